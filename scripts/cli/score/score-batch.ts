import { createHash } from 'node:crypto';
import { readableCount } from '../../terminal/readable-numbers.js';
import { CliError } from '../cli-error.js';
import type { ApiFailure, ReplyUsage, ReplyValidation, ScoreReply, ScoreRow } from './api-reply.js';
import type { Batch, SentRecord } from './record-batches.js';
import { CallRefused, type ScoreCall } from './score-client.js';

/** What is the same in every call of a run. */
export interface CallTemplate {
  /** Names the run: the same records in the same run are counted once, in another run again. */
  readonly run: string;
  readonly modelId: string;
  readonly explain: boolean;
}

/** A batch with its answer. */
export interface ScoredBatch {
  readonly batch: Batch;
  /** One for each record of the batch. */
  readonly rows: readonly ScoreRow[];
  readonly usage: ReplyUsage | undefined;
  readonly validation: ReplyValidation | undefined;
}

/** Scores batches, in smaller calls where the service takes no larger ones. */
export class BatchScorer {
  /** Bytes of a body that the service has been seen to refuse, and half of it is tried. */
  private refusedBytes = Number.POSITIVE_INFINITY;

  constructor(
    private readonly client: { score(call: ScoreCall): Promise<ScoreReply> },
    private readonly template: CallTemplate,
  ) {}

  /**
   * Scores one batch.
   * @throws CliError naming rows and lines of the file; AbortError when told to stop
   */
  async score(batch: Batch): Promise<ScoredBatch> {
    if (batch.records.length === 0) return { batch, rows: [], usage: undefined, validation: undefined };
    const replies = await this.scoreRecords(batch.records);
    return {
      batch,
      rows: replies.flatMap((reply) => reply.scores),
      usage: replies.at(-1)?.usage,
      validation: replies.at(-1)?.validation,
    };
  }

  private async scoreRecords(records: readonly SentRecord[]): Promise<ScoreReply[]> {
    const body = bodyOf(records, this.template);
    const bytes = Buffer.byteLength(body);
    if (bytes >= this.refusedBytes && records.length > 1) return this.scoreHalves(records);
    try {
      const idempotencyKey = idempotencyKeyOf(body, records, this.template);
      return [await this.client.score({ body, records: records.length, idempotencyKey })];
    } catch (error) {
      if (!(error instanceof CallRefused)) throw error;
      if (mayBeTooLarge(error.failure, records)) {
        this.refusedBytes = Math.min(this.refusedBytes, bytes);
        return this.scoreHalves(records);
      }
      throw refusal(error.failure, records);
    }
  }

  private async scoreHalves(records: readonly SentRecord[]): Promise<ScoreReply[]> {
    const middle = Math.ceil(records.length / 2);
    const first = await this.scoreRecords(records.slice(0, middle));
    return [...first, ...(await this.scoreRecords(records.slice(middle)))];
  }
}

function bodyOf(records: readonly SentRecord[], { modelId, explain }: CallTemplate): string {
  const texts = records.map((record) => record.text).join(',');
  return `{"model_id":${JSON.stringify(modelId)},${explain ? '"explain":true,' : ''}"records":[${texts}]}`;
}

/** The same for the same records of the same run, and for nothing else. */
function idempotencyKeyOf(body: string, records: readonly SentRecord[], { run }: CallTemplate): string {
  const hash = createHash('sha256').update(`${run}\n${records[0]?.row}\n${body}`);
  return `leadscore-score-${hash.digest('base64url')}`;
}

/** A 400 that names no record and no count is about the body's size, as a limit below the usual 8 MiB is. */
const mayBeTooLarge = ({ code, status, message }: ApiFailure, records: readonly SentRecord[]): boolean =>
  status === 400 && code === 'bad_request' && records.length > 1 && !recordPlace.test(message);

/** `records[17]`, with the field that may follow: `.annual_revenue`, or `["Annual Revenue"]`. */
const recordPlace = /records\[(\d+)\](?:\.([A-Za-z_$][\w$]*)|\[("(?:[^"\\]|\\.)*")\])?/;

function refusal(failure: ApiFailure, records: readonly SentRecord[]): CliError {
  const first = records[0]?.row ?? 0;
  const last = records.at(-1)?.row ?? first;
  const rows =
    first === last
      ? `Row ${readableCount(first)} was`
      : `Rows ${readableCount(first)}-${readableCount(last)} were`;
  const docs = failure.docsUrl === undefined ? '' : `\nSee ${failure.docsUrl}`;
  const message = inTermsOfTheFile(failure.message, records);
  return new CliError(
    failure.status === 0
      ? `${rows} not scored: ${message}`
      : `${rows} refused: ${message} (${failure.code}, status ${failure.status})${docs}`,
    {
      code: failure.code,
      details: {
        status: failure.status,
        rows: { first, last },
        ...(failure.docsUrl === undefined ? {} : { docs_url: failure.docsUrl }),
        ...(failure.requestId === undefined ? {} : { request_id: failure.requestId }),
      },
    },
  );
}

/** Puts row, line and field of the file in the place of `records[17].annual_revenue`. */
function inTermsOfTheFile(message: string, records: readonly SentRecord[]): string {
  const named = (place: string, index: string, name?: string, quoted?: string): string => {
    const record = records[Number(index)];
    if (record === undefined) return place;
    const field = quoted ?? (name === undefined ? undefined : JSON.stringify(name));
    return `row ${record.row} (line ${record.line})${field === undefined ? '' : `, ${field}`}`;
  };
  return message.replace(new RegExp(recordPlace, 'g'), named);
}
