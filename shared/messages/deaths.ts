import type { Redis } from '../redis/connect.js';
import { modelStrikesKey } from '../redis/keys.js';
import { versionId } from '../store/models/model-versions.js';

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
 * @param id see `versionId`
 * @param text `<count>@<Unix ms of the last>@<Unix ms of the quarantine's end>`, see strike.lua
 */
export function deathsOf(id: string, text: string): Deaths {
  const [count = 0, lastMs = 0, untilMs = 0] = text.split('@').map(Number);
  const colon = id.indexOf(':');
  return { of: { model_id: id.slice(0, colon), version: id.slice(colon + 1) }, count, lastMs, untilMs };
}

/** Whether workers refuse a version now. */
export async function isQuarantined(
  redis: Redis,
  { model_id: modelId, version }: Deaths['of'],
  nowMs: number,
): Promise<boolean> {
  const id = versionId(modelId, version);
  const text = await redis.hget(modelStrikesKey, id);
  return text !== null && deathsOf(id, text).untilMs > nowMs;
}
