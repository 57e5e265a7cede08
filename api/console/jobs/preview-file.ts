import type { previewJobOutput } from '../../../shared/admin/schemas/jobs.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { guessedIdName } from '../../../shared/files/notices/header-notices.js';
import { knownAmong, objectIn } from '../../../shared/files/other-format.js';
import { columnOf, firstOfEach } from '../../../shared/files/reading/csv-columns.js';
import { FileRecords, type RecordRules } from '../../../shared/files/reading/file-records.js';
import { inflatedPieces } from '../../../shared/files/reading/inflate-file.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { type FoundRecords, textOf } from '../../../shared/files/reading/record-ends.js';
import { IdMember } from '../../../shared/files/reading/row-ids.js';
import { type TextForm, utf8Pieces } from '../../../shared/files/reading/text-pieces.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { SimilarFields, SuggestionWork } from '../../../shared/messages/similar-fields.js';
import { jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { shapeOfHeader } from '../../bulk/reading/read-header.js';
import { readInput } from '../../bulk/reading/read-input.js';

type Preview = Omit<ShapeOf<typeof previewJobOutput>, 'usage' | 'same_file'>;

interface PreviewOptions {
  /** Whether the head is all of the file. */
  readonly isWhole: boolean;
  /** The name with the ids that a person chose. */
  readonly idColumn: string | undefined;
  readonly knownFields: KnownFields;
}

/** The head of a file has been read. Faults of a file that ends there do not count. */
class EndOfHead extends Error {}

const maxColumns = 1_000;
const maxJsonRecords = 200;
const formatAdvice = { csv: 'rename it to end with .csv', jsonl: 'Rename the file to end with .jsonl' } as const;

/** Reads the first bytes of a file as a runner of bulk jobs does, and compares its names with the fields of a model. */
export async function previewOf(head: Buffer, options: PreviewOptions): Promise<Preview> {
  const { idColumn, knownFields } = options;
  const form: TextForm = { hasMark: false, encoding: 'utf-8' };
  const pieces = (): AsyncGenerator<Buffer> =>
    utf8Pieces(
      inflatedPieces(piecesOf(head, options), { inflatedBytes: jobLimits.inflatedBytes, onProgress: () => undefined }),
      form,
    );
  const format = await formatOf(pieces());
  const found: Names = { names: [], rows: 0, idName: undefined };
  const read = format === 'csv' ? readCsv : readJsonl;
  const inHead = await faultIn(read(pieces(), found, options));
  // Only the end shows that a file has no rows.
  let problem = options.isWhole ? await faultIn(readWhole(head, format, options)) : inHead;
  const { names, rows } = found;
  if (names.length === 0 && !options.isWhole) problem ??= 'The first lines of the file have no names of columns.';
  const idName = found.idName ?? (names.includes(idColumn ?? '') ? idColumn : undefined);
  const guess = idName === undefined ? guessedIdName(names) : undefined;
  return {
    format,
    ...columnsOf(names, idName, knownFields),
    ...(idName !== undefined && { id_column: idName }),
    ...(guess !== undefined && { id_guess: guess }),
    ...(problem !== undefined && { problem: /[.!?]$/.test(problem) ? problem : `${problem}.` }),
    rows,
  };
}

/** Why a file cannot be read. @throws other errors than those of the file */
async function faultIn(reading: Promise<unknown>): Promise<string | undefined> {
  try {
    await reading;
    return undefined;
  } catch (error) {
    if (error instanceof InputFault) return error.message;
    if (error instanceof EndOfHead) return undefined;
    throw error;
  }
}

/** Reads all of a file, as the runner will. @throws InputFault */
const readWhole = (head: Buffer, format: Preview['format'], options: PreviewOptions): Promise<unknown> =>
  readInput(
    piecesOf(head, options),
    {
      ...{ format, include_input: true, explain: false },
      ...(options.idColumn !== undefined && { crm_id_field: options.idColumn }),
    },
    { knownFields: options.knownFields, onSlices: async () => undefined },
  );

/** The names of a file, as far as it was read. */
interface Names {
  names: readonly string[];
  rows: number;
  /** The name with the ids. */
  idName: string | undefined;
}

async function* piecesOf(head: Buffer, { isWhole }: Pick<PreviewOptions, 'isWhole'>): AsyncGenerator<Buffer> {
  yield head;
  if (!isWhole) throw new EndOfHead('the head has ended');
}

/** A file that begins as an object of JSON is JSON Lines. */
async function formatOf(pieces: AsyncGenerator<Buffer>): Promise<Preview['format']> {
  const first = await pieces.next().catch(() => undefined);
  await pieces.return(undefined).catch(() => undefined);
  const text = first === undefined || first.done === true ? '' : first.value.toString('utf8', 0, 4_096);
  return /^\s*\{\s*(?:"|\})/.test(text) ? 'jsonl' : 'csv';
}

const rulesOf = (format: Preview['format'], { knownFields }: PreviewOptions): Omit<RecordRules, 'readHeader'> => ({
  ...{ format, limits: jobLimits, formatAdvice, canBeHeader: knownAmong(knownFields) },
});

async function readCsv(pieces: AsyncIterable<Buffer>, found: Names, options: PreviewOptions): Promise<void> {
  const { idColumn, knownFields } = options;
  const records = new FileRecords({
    ...rulesOf('csv', options),
    readHeader: async (columns, start) => {
      found.names = firstOfEach(columns).map(({ name }) => name);
      const wanted = { wanted: idColumn ?? 'crm_id', line: start.line, purpose: 'crm_id' };
      const index = await columnOf(columns, wanted).catch(() => undefined);
      found.idName = index === undefined ? undefined : columns[index];
      const named = idColumn === undefined ? {} : { crm_id_field: idColumn };
      return (await shapeOfHeader(columns, { ...start, options: named, knownFields })).crmIdColumn;
    },
  });
  for await (const { from, to } of records.read(pieces)) found.rows += to - from;
}

async function readJsonl(pieces: AsyncIterable<Buffer>, found: Names, options: PreviewOptions): Promise<void> {
  const member = new IdMember(options.idColumn);
  const names = new Set<string>();
  const records = new FileRecords({ ...rulesOf('jsonl', options), readHeader: async () => undefined });
  for await (const step of records.read(pieces)) {
    for (const text of linesOf(step)) {
      found.rows += 1;
      const record = found.rows <= maxJsonRecords ? objectIn(text) : undefined;
      if (record === undefined) continue;
      for (const name of Object.keys(record)) if (names.size < maxColumns) names.add(name);
      found.names = [...names];
      const id = member.in(record);
      if ('name' in id) found.idName ??= id.name;
    }
  }
}

const linesOf = (records: FoundRecords): string[] =>
  textOf(records)
    .text.split(/\r\n|\r|\n/)
    .filter((line) => line.trim() !== '');

/** Each name with the field that it feeds, or the nearest one that the file lacks. */
function columnsOf(
  names: readonly string[],
  idName: string | undefined,
  fields: KnownFields,
): Pick<Preview, 'columns' | 'more_columns' | 'missing' | 'fields'> {
  const sent = fields.sentNames();
  const shown = names.slice(0, maxColumns).map((name) => {
    const [target] = name === idName ? [] : sent.targetsOf(name);
    return { name, field: target === undefined ? undefined : fields.slotNames[target.slot] };
  });
  const known = new Set(fields.slotNames);
  const fed = new Set(
    shown.flatMap(({ name }) =>
      name === idName ? [] : sent.targetsOf(name).map(({ slot }) => fields.slotNames[slot]),
    ),
  );
  const missing = [...known].filter((field) => !fed.has(field));
  const similar = SimilarFields.among(fields);
  const work = new SuggestionWork();
  return {
    columns: shown.map(({ name, field }) => {
      if (name === idName) return { name, is_id: true as const };
      if (field !== undefined) return { name, field };
      const meant = similar.of(name, work).find((each) => missing.includes(each));
      return { name, ...(meant !== undefined && { did_you_mean: meant }) };
    }),
    more_columns: Math.max(0, names.length - maxColumns),
    missing,
    fields: known.size,
  };
}
