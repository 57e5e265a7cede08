import { readInput } from '../../../../api/bulk/reading/read-input.js';
import { parseRows } from '../../../../api/bulk/rows/parse-rows.js';
import { openInput } from '../../../../scripts/cli/files/input-file.js';
import { optionText } from '../../../../scripts/cli/outcomes/value-options.js';
import { ConvertedValues } from '../../../../shared/admin/outcomes/converted-values.js';
import { outcomeRows } from '../../../../shared/admin/outcomes/outcome-rows.js';
import type { KnownFields } from '../../../../shared/messages/field-slots.js';
import { rowsOf } from '../../../api/bulk/reading/file-rig.js';
import { defaultOptions } from '../../../support/jobs/sample-job.js';

/** A file on disk, and how it is read. */
interface File {
  readonly path: string;
  readonly bytes: Buffer;
  readonly crmId: string | undefined;
  readonly onNotice?: (notice: string) => void;
}

/** Reads a file into what is made of its rows, without the empty ones. */
type Reader = (file: File) => Promise<unknown[]>;

/** The readers of files, for a model with these fields. */
export const readersOf = (fields: KnownFields) =>
  ({
    'a bulk job': (file) => bulkReader(file, fields),
    'outcomes import': outcomeReader,
  }) as const satisfies Record<string, Reader>;

async function bulkReader({ path, bytes, crmId, onNotice }: File, fields: KnownFields): Promise<unknown[]> {
  const format = /\.jsonl(\.gz)?$/.test(path) ? 'jsonl' : 'csv';
  const options = { ...defaultOptions, format, ...(crmId !== undefined && { crm_id_field: crmId }) } as const;
  const slices: { readonly text: Buffer; readonly row: number; readonly line: number }[] = [];
  const read = await readInput(
    (async function* () {
      yield bytes;
    })(),
    options,
    {
      knownFields: fields,
      onSlices: async (some) => {
        for (const slice of some)
          slices.push({ text: rowsOf(slice, bytes), row: slice.first_row, line: slice.first_line });
      },
    },
  );
  for (const notice of read.notices) onNotice?.(notice);
  const form = { shape: read.shape, knownFields: fields };
  const rows = (await Promise.all(slices.map(({ text, ...first }) => parseRows(text, form, first)))).flat();
  return rows.flatMap(({ problem, record, crmId }) => {
    const id = crmId === null ? {} : { crm_id: crmId };
    return problem?.message ?? (record === undefined ? [] : { ...id, ...record.fields, packed: record.packed });
  });
}

async function outcomeReader({ path, crmId, onNotice = () => undefined }: File): Promise<unknown[]> {
  const input = await openInput(path);
  const columns = { crmId, converted: undefined, at: undefined };
  const values = new ConvertedValues({}, optionText);
  const found: unknown[] = [];
  for await (const row of outcomeRows(input.pieces(), {
    columns,
    values,
    optionText,
    now: new Date(0),
    correctsDates: false,
    onNotice,
  }))
    found.push('outcome' in row ? row.outcome : 'mistake' in row && row.mistake);
  return found;
}

/** The message that refuses a file. */
export const messageOf = (reading: Promise<unknown>): Promise<string> =>
  reading.then(
    () => 'the file was read',
    (error: Error) => error.message.replace(/^[\w.-]+: /, ''),
  );

/** Why a row of outcomes failed; other rows as they are. */
export const messageIn = (row: unknown): unknown =>
  typeof row === 'object' && row !== null && 'what' in row ? row.what : row;
