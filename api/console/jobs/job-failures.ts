import type { jobFailuresOutput } from '../../../shared/admin/schemas/jobs.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { CsvRows } from '../../../shared/files/csv-rows.js';
import { objectIn } from '../../../shared/files/other-format.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import { ResultFile } from '../../routes/jobs/transfer/result-file.js';
import type { ConsoleJobs } from './console-jobs.js';

/** Bytes of the list of errors that are read: some thousand rows. */
const maxBytes = 256 * 1024;
const maxKinds = 20;
const rowsOfKind = 3;
const errorCells = 6;

interface Failure {
  readonly row: number;
  readonly line: number;
  readonly crmId: string;
  readonly field: string;
  readonly message: string;
}

/** The first failed rows of a job by their reasons, the most frequent reason first. */
export async function failuresOf(
  job: Job,
  { stores }: Pick<ConsoleJobs, 'stores'>,
): Promise<ShapeOf<typeof jobFailuresOutput>> {
  const { failed } = job.settled;
  if (job.file === undefined || failed === 0) return { kinds: [], read: 0, failed };
  const file = new ResultFile(job, { kind: 'errors', isGzip: false }, stores.slices);
  const pieces: Buffer[] = [];
  for await (const piece of file.read({ start: 0, end: Math.min(file.length, maxBytes) })) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  // The last line may be cut, or be in the middle of a character.
  const text = bytes.toString('utf8', 0, file.length > maxBytes ? bytes.lastIndexOf(0x0a) + 1 : bytes.length);
  const isCsv = job.options.format === 'csv';
  const failures = isCsv ? csvFailures(text, job.file.shape.delimiter) : jsonFailures(text);
  const kinds = new Map<string, Failure[]>();
  for (const failure of failures) {
    const reason = reasonOf(failure);
    kinds.set(reason, [...(kinds.get(reason) ?? []), failure]);
  }
  const byCount = [...kinds].sort(([, one], [, other]) => other.length - one.length);
  return {
    kinds: byCount.slice(0, maxKinds).map(([reason, rows]) => ({
      reason,
      rows: rows.length,
      first: rows.slice(0, rowsOfKind).map(({ row, line, crmId, message }) => ({
        ...{ row, line, message },
        ...(crmId !== '' && { crm_id: crmId }),
      })),
    })),
    read: failures.length,
    failed,
  };
}

/** A reason without the values, numbers and names that differ from row to row. */
function reasonOf({ field, message }: Failure): string {
  const bare = message.replace(/"(?:[^"\\]|\\.)*"/g, '…').replace(/\d+/g, '…');
  return field === '' || message.includes(field) ? bare : `${field}: ${bare}`;
}

function csvFailures(text: string, delimiter: string): Failure[] {
  const rows = new CsvRows(text.replace(/^\uFEFF/, ''), { delimiter, maxCells: errorCells, firstLine: 1 });
  const failures: Failure[] = [];
  rows.next();
  while (rows.next()) {
    const [row = '', line = '', crmId = '', field = '', message = ''] = rows.cells;
    failures.push({ row: Number(row), line: Number(line), crmId, field, message });
  }
  // A line break in a cell can be at the cut.
  if (rows.isUnclosed) failures.pop();
  return failures;
}

function jsonFailures(text: string): Failure[] {
  return text.split('\n').flatMap((each) => {
    const failure: Readonly<Record<string, unknown>> = objectIn(each) ?? {};
    const { row, line, crm_id: crmId, field = '', message = '' } = failure;
    if (row === undefined) return [];
    const texts = { crmId: String(crmId ?? ''), field: String(field), message: String(message) };
    return [{ row: Number(row), line: Number(line), ...texts }];
  });
}
