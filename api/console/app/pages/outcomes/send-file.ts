import type { importOutcomesOutput, previewOutcomesOutput } from '../../../../../shared/admin/schemas/outcomes.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { call, Refusal } from '../../server/call.js';
import { FileText } from '../../server/file-text.js';

type Preview = ShapeOf<typeof previewOutcomesOutput>;
export type Reply = ShapeOf<typeof importOutcomesOutput>;
type Value = NonNullable<Preview['values']>[number];

/** The begin of a file: its columns and first rows. */
export interface FileStart {
  readonly file: File;
  readonly encoding: string;
  readonly preview: Preview;
  /** The bytes of the header, with which each later part begins. */
  readonly header: Uint8Array<ArrayBuffer>;
}

export interface Columns {
  readonly crm_id: string;
  readonly converted: string;
  readonly at: string;
}

/** A part of a file with whole rows. */
interface Part {
  readonly bytes: number;
  readonly rows: number;
  /** Undefined for the first part, which has the header itself. */
  readonly line: number | undefined;
}

/** The values of the outcome column, and the parts in which the file is sent. */
export interface Counted {
  readonly columns: Columns;
  readonly parts: readonly Part[];
  readonly rows: number;
  readonly withoutValue: number;
  readonly values: readonly Value[];
}

const startBytes = 256 * 1024;
/** Below the limit of a body, also with a header of a mebibyte. The server ends a part after 50,000 rows. */
const partBytes = 4 * 1024 * 1024;
const maxValues = 50;
const attempts = 3;
const againMs = 3_000;

/** Reads the begin of a file. @throws Error for people; Refusal */
export async function readStart(path: string, file: File): Promise<FileStart> {
  let encoding = 'utf-8';
  for (;;) {
    const text = await FileText.open(file, encoding);
    const { bytes, goesOn } = await text.next(startBytes);
    text.close();
    const preview = await send<Preview>(`${path}/preview`, { goes_on: String(goesOn) }, [bytes]);
    if (preview.encoding === 'utf-8') return { file, encoding, preview, header: bytes.slice(0, preview.header_bytes) };
    encoding = preview.encoding;
  }
}

/**
 * Lets the server count the values of the outcome column, part by part.
 * @param onProgress receives the rows so far
 * @throws Error for people, also for a column that has no outcomes; Refusal
 */
export async function countValues(
  path: string,
  { file, encoding, header }: FileStart,
  { columns, onProgress }: { readonly columns: Columns; readonly onProgress: (rows: number) => void },
): Promise<Counted> {
  const text = await FileText.open(file, encoding);
  const values = new Map<string, Value>();
  const parts: Part[] = [];
  let [rows, withoutValue] = [0, 0];
  let line: number | undefined;
  try {
    for (;;) {
      const { bytes, goesOn } = await text.next(partBytes);
      const query = { ...queryOf(columns), ...partQuery(line, header), goes_on: String(goesOn) };
      const found = await send<Preview>(`${path}/preview`, query, line === undefined ? [bytes] : [header, bytes]);
      for (const each of found.values ?? []) {
        const known = values.get(each.key);
        values.set(each.key, known === undefined ? each : { ...known, rows: known.rows + each.rows });
      }
      if (found.values === null || values.size > maxValues)
        throw new Error(
          `The column ${columns.converted} has more than ${maxValues} different values, or a long one, so it holds no outcomes. Choose another column.`,
        );
      parts.push({ bytes: found.bytes, rows: found.rows, line });
      rows += found.rows;
      withoutValue += found.without_value;
      onProgress(rows);
      text.pass(found.bytes);
      line = found.next_line;
      if (!goesOn && found.bytes === bytes.length) break;
    }
  } finally {
    text.close();
  }
  const all = [...values.values()].sort((one, other) => other.rows - one.rows);
  return { columns, parts, rows, withoutValue, values: all };
}

export type Mark = 'won' | 'lost' | 'ignored';

/**
 * Sends the rows of a file. A file that is sent again changes nothing of the stored rows.
 * @param onProgress receives the sum of the replies so far
 * @throws Error for people; Refusal
 */
export async function sendOutcomes(
  path: string,
  { file, encoding, header }: FileStart,
  of: {
    readonly counted: Counted;
    readonly marks: ReadonlyMap<string, Mark>;
    readonly onProgress: (sum: Reply) => void;
  },
): Promise<Reply> {
  const { columns, parts, values } = of.counted;
  const marked = (mark: Mark) => values.map(({ value }) => value).filter((value) => of.marks.get(value) === mark);
  const options = {
    ...queryOf(columns),
    ...listQuery('won_values', marked('won')),
    ...listQuery('lost_values', marked('lost')),
    ...listQuery('ignored_values', marked('ignored')),
  };
  const text = await FileText.open(file, encoding);
  let sum: Reply = { ...{ accepted: 0, rows: 0, converted: 0, refused: 0, repeated: 0 }, problems: [], notes: [] };
  try {
    for (const [index, { bytes: length, rows, line }] of parts.entries()) {
      const { bytes } = await text.next(length);
      if (bytes.length < length) throw new Error('The file has changed since it was read. Choose it again.');
      if (rows > 0) {
        const query = { ...options, ...partQuery(line, header), goes_on: String(index + 1 < parts.length) };
        sum = plus(sum, await send<Reply>(path, query, line === undefined ? [bytes] : [header, bytes]));
        of.onProgress(sum);
      }
      text.pass(length);
    }
  } finally {
    text.close();
  }
  return sum;
}

const queryOf = ({ crm_id, converted, at }: Columns) => ({ crm_id, converted, ...(at !== '' && { at }) });
const partQuery = (line: number | undefined, { length }: Uint8Array) =>
  line === undefined ? {} : { line: String(line), header: String(length) };
const listQuery = (name: string, values: readonly string[]): Readonly<Record<string, string>> =>
  values.length === 0 ? {} : { [name]: values.map((value) => `"${value.replaceAll('"', '""')}"`).join(',') };

/** Sends a CSV, again after a failure that may pass. */
async function send<Answer>(
  path: string,
  query: Readonly<Record<string, string>>,
  text: readonly Uint8Array<ArrayBuffer>[],
): Promise<Answer> {
  const packed = new Blob([...text]).stream().pipeThrough(new CompressionStream('gzip'));
  const body = new Blob([await new Response(packed).arrayBuffer()], { type: 'text/csv' });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call<Answer>('POST', `${path}?${new URLSearchParams(query).toString()}`, body);
    } catch (error) {
      const mayPass = error instanceof Refusal && [0, 429, 500, 503].includes(error.status);
      if (!mayPass || attempt === attempts) throw error;
      await new Promise((done) => setTimeout(done, againMs));
    }
  }
}

const maxListed = 3;
const maxValuesListed = 6;

function plus(one: Reply, other: Reply): Reply {
  const names = ['accepted', 'rows', 'converted', 'refused', 'ignored', 'repeated', 'known', 'unknown'] as const;
  const counts = Object.fromEntries(names.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
  const problems = new Map(one.problems.map((each) => [each.problem, each]));
  for (const each of other.problems) {
    const { rows = 0, first = [], values = [] } = problems.get(each.problem) ?? {};
    problems.set(each.problem, {
      ...{ problem: each.problem, rows: rows + each.rows },
      first: [...first, ...each.first].slice(0, maxListed),
      values: [...new Set([...values, ...each.values])].slice(0, maxValuesListed),
    });
  }
  const notes = [...new Set([...one.notes, ...other.notes])];
  return { ...other, ...one, ...counts, problems: [...problems.values()], notes };
}
