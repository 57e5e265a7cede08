import { createReadStream } from 'node:fs';
import { mkdtemp, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { FileRecords } from '../../../shared/files/reading/file-records.js';
import { recordAt } from '../../../shared/files/reading/record-ends.js';
import { csvLine } from '../../../shared/files/result-columns.js';
import { jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { unwritable } from '../context/cli-error.js';
import { csvCells } from '../files/csv-cells.js';
import { formatAdvice, type InputFile } from '../files/input-file.js';
import { ResultsDownload } from './download-results.js';
import type { JobClient } from './job-client.js';
import type { JobReply } from './job-reply.js';
import { fileSink } from './results-sink.js';

export interface ErrorsRequest {
  readonly client: JobClient;
  /** A job that has ended. */
  readonly job: JobReply;
  /** The file of the job. */
  readonly input: InputFile;
  /** Where the rows go. */
  readonly path: string;
  /** Whether another file there is replaced. */
  readonly force: boolean;
}

/** The rows of a file that failed. */
export interface FailedRows {
  /** The file that has them; undefined without one. */
  readonly path?: string;
  /** Why there is no such file. */
  readonly problem?: string;
  /** The first rows with their reasons, such as `leads.csv, line 3: expected a number`. */
  readonly reasons: readonly string[];
}

/**
 * Writes the rows of a file that failed, as the file has them, below its header.
 * @throws CliError when it cannot be written, or the service refuses
 */
export async function writeErrorsFile(request: ErrorsRequest): Promise<FailedRows> {
  const { input, path, force } = request;
  const folder = await mkdtemp(join(tmpdir(), 'leadscore-errors-'));
  const part = `${path}.part`;
  try {
    const { lines, reasons } = await failedRows(request, folder);
    const changed = { reasons, problem: `${input.name} has changed, so its failed rows have no file of their own.` };
    if (!(await isUnchanged(input))) return changed;
    await writeRows(input, lines, part);
    if (!(await isUnchanged(input))) return changed;
    if (!force && !(await isSameOrAbsent(path, part)))
      return { reasons, problem: `${path} exists, and is not from this job. Replace it with --force.` };
    await rename(part, path).catch((error: unknown) => {
      throw unwritable(path, error);
    });
    return { reasons, path };
  } finally {
    await Promise.all([folder, part].map((each) => rm(each, { recursive: true, force: true })));
  }
}

async function isUnchanged({ path, bytes, modifiedAt }: InputFile): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.size === bytes && found.mtime.getTime() === modifiedAt.getTime();
}

/** Rows that are shown with their reasons. */
const maxReasons = 10;

interface ListedError {
  readonly line: number;
  readonly field: string;
  readonly message: string;
}

/** The first lines of the rows that failed, and the first of them with their reasons. */
async function failedRows({ client, job, input }: ErrorsRequest, folder: string) {
  const path = join(folder, `errors.${input.format}`);
  const sink = await fileSink(path);
  try {
    await new ResultsDownload({ client, jobId: job.job_id, kind: 'errors', sink }).fetch();
  } finally {
    await sink.close();
  }
  const lines = new Set<number>();
  const reasons: string[] = [];
  for await (const { line, field, message } of input.format === 'csv' ? csvErrors(path) : jsonErrors(path)) {
    lines.add(line);
    const of = field === '' || message.startsWith(field) ? '' : `${field}: `;
    if (reasons.length < maxReasons) reasons.push(`${input.name}, line ${line}: ${of}${message}`);
  }
  return { lines, reasons };
}

async function* csvErrors(path: string): AsyncGenerator<ListedError> {
  for await (const cells of csvCells(path))
    yield {
      line: Number(cells.get('line')),
      field: cells.get('field') ?? '',
      message: cells.get('message') ?? '',
    };
}

async function* jsonErrors(path: string): AsyncGenerator<ListedError> {
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const { line, field = '', message = '' } = JSON.parse(text);
    yield { line, field, message };
  }
}

/** Writes the header of a CSV, and the rows that begin in some lines. */
async function writeRows(input: InputFile, lines: ReadonlySet<number>, path: string): Promise<void> {
  const file = await open(path, 'w', 0o600).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  try {
    let header = '';
    const records = new FileRecords({
      ...{ format: input.format, limits: jobLimits, formatAdvice },
      readHeader: async (names, { delimiter }) => {
        header = csvLine(names, delimiter);
        return undefined;
      },
    });
    let isFirst = true;
    for await (const found of records.read(input.pieces())) {
      const parts: Buffer[] = [];
      if (isFirst && input.hasByteOrderMark()) parts.push(Buffer.from('\uFEFF'));
      if (isFirst) parts.push(Buffer.from(header));
      isFirst = false;
      for (let index = found.from; index < found.to; index += 1) {
        const { bytes, line } = recordAt(found, index);
        if (!lines.has(line)) continue;
        parts.push(Buffer.from(bytes));
        if (bytes.at(-1) !== 0x0a && bytes.at(-1) !== 0x0d) parts.push(Buffer.from('\n'));
      }
      await file.write(Buffer.concat(parts)).catch((error: unknown) => {
        throw unwritable(path, error);
      });
    }
  } finally {
    await file.close();
  }
}

async function isSameOrAbsent(path: string, part: string): Promise<boolean> {
  const before = await readFile(path).catch(() => undefined);
  return before === undefined || before.equals(await readFile(part));
}
