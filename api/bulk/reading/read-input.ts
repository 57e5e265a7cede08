import type { FileShape } from '../../../shared/files/file-form.js';
import { knownAmong } from '../../../shared/files/other-format.js';
import { FileRecords } from '../../../shared/files/reading/file-records.js';
import { inflatedPieces } from '../../../shared/files/reading/inflate-file.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { type TextForm, utf8Mark, utf8Pieces } from '../../../shared/files/reading/text-pieces.js';
import { resultHeader } from '../../../shared/files/result-columns.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { jobLimits } from '../../../shared/store/jobs/job-documents.js';
import type { JobOptions } from '../../../shared/store/jobs/job-options.js';
import { type RawSlice, SliceCutter } from './cut-slices.js';
import { JsonSurvey } from './json-survey.js';
import { shapeOfHeader } from './read-header.js';
import { RowSurvey } from './row-survey.js';

export { InputFault } from '../../../shared/files/reading/input-fault.js';
export type { RawSlice } from './cut-slices.js';

/** The result of reading a file. */
export interface ReadFile {
  readonly shape: FileShape;
  readonly rows: number;
  readonly slices: number;
  /** The first line of the results with its line end: see `resultHeader`. */
  readonly header_line: string;
  /**
   * Sentences for people: about rows that were passed over or read in an unusual way, repeated ids, and names of
   * columns.
   */
  readonly notices: readonly string[];
  /** Columns of a CSV that the model does not know: see `ReadHeader`. */
  readonly unknown: readonly string[];
  /** Whether its slices are ranges of the upload. */
  readonly isInPlace: boolean;
}

/** The limits of jobs; tests lower them. */
export type FileLimits = { readonly [Name in keyof typeof jobLimits]: number };

export interface ReadDeps {
  readonly knownFields: KnownFields;
  /** Receives the slices in order, a few at a time. The next ones come when it has resolved. */
  readonly onSlices: (slices: readonly RawSlice[]) => Promise<void>;
  /** Receives the bytes of the upload, as sent, that were read so far. */
  readonly onProgress?: (readBytes: number) => void;
  readonly signal?: AbortSignal;
  readonly limits?: Partial<FileLimits>;
}

const formatAdvice = {
  csv: 'create the job with "format": "csv" in "input"',
  jsonl: 'Create the job with "format": "jsonl" in "input"',
} as const;

/**
 * Reads an upload, plain or gzip, and cuts its rows into slices. It holds a few MiB of any file, and
 * 32 MiB of hashes of ids.
 * @throws InputFault; errors of the upload and of `onSlices`; the reason of the signal
 */
export async function readInput(
  upload: AsyncIterable<Uint8Array>,
  options: Pick<JobOptions, 'format' | 'crm_id_field' | 'strict' | 'include_input' | 'explain'>,
  { knownFields, onSlices, onProgress = () => undefined, signal, limits: lowered }: ReadDeps,
): Promise<ReadFile> {
  const limits = { ...jobLimits, ...lowered };
  const { format } = options;
  const form: TextForm = { hasMark: false, encoding: 'utf-8' };
  let isGzip = false;
  const source = () => ({
    isRange: !isGzip && form.encoding === 'utf-8',
    textAt: form.hasMark ? utf8Mark.length : 0,
  });
  const cutter = new SliceCutter({ limits, source, onSlices });
  const survey = new RowSurvey(knownFields);
  const json = new JsonSurvey(knownFields, options.crm_id_field);
  let shape: FileShape | undefined;
  let nameNotices: readonly string[] = [];
  let unknown: readonly string[] = [];
  if (format === 'jsonl')
    shape = { format, columns: [], delimiter: '', crm_id_field: options.crm_id_field ?? 'crm_id' };
  const names = knownFields.sentNames();
  const records = new FileRecords({
    format,
    limits,
    formatAdvice,
    canBeHeader:
      format === 'jsonl' ? knownAmong(knownFields) : (cells) => cells.some((cell) => names.targetsOf(cell).length > 0),
    readHeader: async (columns, start) => {
      const read = await shapeOfHeader(columns, { ...start, options, knownFields });
      shape = read.shape;
      nameNotices = read.notices;
      unknown = read.unknown;
      return read.crmIdColumn;
    },
  });
  const onGzip = () => {
    isGzip = true;
  };
  const pieces = inflatedPieces(upload, { inflatedBytes: limits.inflatedBytes, onProgress, onGzip });
  try {
    for await (const found of records.read(utf8Pieces(pieces, form))) {
      signal?.throwIfAborted();
      if (format === 'jsonl') await survey.seeJsonl(found, json);
      else if (shape !== undefined) await survey.seeCsv(found, shape);
      await cutter.add(found);
    }
    signal?.throwIfAborted();
    survey.end();
    if (shape === undefined || cutter.rows === 0) throw nothingInIt(format, records.hasHeader);
    if (!survey.hasContent) throw nothingInIt(format, true, ' with content');
    json.refuseWithoutIds();
    if (options.strict === true) json.refuseUnknown();
    await cutter.end();
    const { footer, surplus } = survey;
    const hasMark = format === 'csv' && form.hasMark;
    return {
      shape: {
        ...shape,
        ...(footer !== undefined && { footer }),
        ...(surplus > 0 && { surplus }),
        ...(hasMark && { hasMark }),
      },
      rows: cutter.rows,
      slices: cutter.slices,
      header_line: resultHeader({ ...shape, hasMark }, options),
      notices: [...survey.notices(), ...nameNotices, ...json.notices()],
      unknown,
      isInPlace: source().isRange,
    };
  } finally {
    await cutter.settled();
  }
}

/** @param of completes "no rows", such as " with content" */
function nothingInIt(format: JobOptions['format'], hasHeader: boolean, of = ''): InputFault {
  if (format === 'jsonl') return new InputFault(`The file has no rows${of}`);
  if (hasHeader) return new InputFault(`The file has a header, but no rows${of}`);
  return new InputFault('The file has no header: it is empty. Begin it with a line that names the columns');
}
