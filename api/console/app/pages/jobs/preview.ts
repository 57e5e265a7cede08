import { useEffect, useState } from 'preact/hooks';
import type { previewJobOutput } from '../../../../../shared/admin/schemas/jobs.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { call } from '../../server/call.js';
import type { FileHead } from '../../server/file-head.js';

export type Preview = ShapeOf<typeof previewJobOutput>;

/** A chosen file and its beginning. */
export interface ChosenFile extends FileHead {
  readonly file: File;
}

/** Compares the beginning of a file with a model, and again when a person chooses another model or id. */
export function usePreview(
  api: string,
  {
    chosen,
    modelId,
    idColumn,
  }: { readonly chosen: ChosenFile | undefined; readonly modelId: string; readonly idColumn: string },
): { readonly preview: Preview | undefined; readonly problem: Error | undefined } {
  const [state, setState] = useState<{ of?: ChosenFile; preview?: Preview; problem?: Error }>({});
  useEffect(() => {
    if (chosen === undefined || modelId === '') return;
    let isCurrent = true; // a slow reply must not replace a later one
    const { head, isWhole, fingerprint } = chosen;
    const id = idColumn === '' ? {} : { crm_id_field: idColumn };
    const body = { model_id: modelId, head, is_whole: isWhole, fingerprint, ...id };
    call<Preview>('POST', `${api}/files/preview`, body).then(
      (preview) => isCurrent && setState({ of: chosen, preview }),
      (problem) => isCurrent && setState({ of: chosen, problem }),
    );
    return () => {
      isCurrent = false;
    };
  }, [api, chosen, modelId, idColumn]);
  const isOwn = state.of === chosen;
  return { preview: isOwn ? state.preview : undefined, problem: isOwn ? state.problem : undefined };
}

/** Rows of a file, by the mean length of the rows in its head. Undefined for a compressed file. */
export function estimatedRows({ isWhole, headBytes, plainBytes }: FileHead, { rows }: Preview): number | undefined {
  if (isWhole) return rows;
  if (plainBytes === undefined || headBytes === 0 || rows === 0) return undefined;
  const estimate = (rows * plainBytes) / headBytes;
  // Two digits: the rows may differ in length.
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(estimate)) - 1);
  return Math.round(estimate / unit) * unit;
}
