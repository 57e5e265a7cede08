/** The worker processes that chunks of a version ended. */
interface Deaths {
  readonly of: { readonly model_id: string; readonly version: string };
  readonly count: number;
  readonly lastMs: number;
  /** When the quarantine ends; 0 if there was none. */
  readonly untilMs: number;
}

/**
 * Reads an entry of the strikes.
 * @param id `<model>:<version>`
 * @param text `<count>@<Unix ms of the last>@<Unix ms of the quarantine's end>`, see strike.lua. Undefined: no deaths
 */
export function deathsOf(id: string, text: string | undefined): Deaths {
  const [count = 0, lastMs = 0, untilMs = 0] = (text ?? '').split('@').map(Number);
  const colon = id.indexOf(':');
  return { of: { model_id: id.slice(0, colon), version: id.slice(colon + 1) }, count, lastMs, untilMs };
}
