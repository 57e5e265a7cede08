import { createHash } from 'node:crypto';
import { CliError } from '../../context/cli-error.js';
import { countText } from '../../output/readable-numbers.js';
import type { Batch, SentRecord } from '../input/record-batches.js';
import type { ApiFailure, ReplyUsage, ReplyValidation, ScoreReply, ScoreRow } from './api-reply.js';
import { CallRefused, type ScoreCall } from './score-client.js';

/** The constant part of all calls of a run. */
export interface CallTemplate {
  /** Id of the run. The same records are counted once per run. */
  readonly run: string;
  readonly modelId: string;
  readonly explain: boolean;
}

/** A batch with its scores. */
export interface ScoredBatch {
  readonly batch: Batch;
  /** One row per record of the batch. */
  readonly rows: readonly ScoreRow[];
  readonly usage: ReplyUsage | undefined;
  readonly validation: ReplyValidation | undefined;
}

/** Scores batches. Splits a batch in half when the service refuses its size. */
export class BatchScorer {
  /** Size in bytes of the smallest body that the service has refused. */
  private refusedBytes = Number.POSITIVE_INFINITY;

  constructor(
    private readonly client: { score(call: ScoreCall): Promise<ScoreReply> },
    private readonly template: CallTemplate,
  ) {}

  /** @throws CliError that names rows and lines of the file; AbortError when the run is stopped */
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

/** Depends only on the run and its records, so a retry or a resumed run repeats the key. */
function idempotencyKeyOf(body: string, records: readonly SentRecord[], { run }: CallTemplate): string {
  const hash = createHash('sha256').update(`${run}\n${records[0]?.row}\n${body}`);
  return `leadscore-score-${hash.digest('base64url')}`;
}

/** A 400 that names no record is probably about the body size: the service may have a limit below 8 MiB. */
const mayBeTooLarge = ({ code, status, message }: ApiFailure, records: readonly SentRecord[]): boolean =>
  status === 400 && code === 'bad_request' && records.length > 1 && !recordPlace.test(message);

/** Matches `records[17]` and an optional field: `.annual_revenue` or `["Annual Revenue"]`. */
const recordPlace = /records\[(\d+)\](?:\.([A-Za-z_$][\w$]*)|\[("(?:[^"\\]|\\.)*")\])?/;

function refusal(failure: ApiFailure, records: readonly SentRecord[]): CliError {
  const first = records[0]?.row ?? 0;
  const last = records.at(-1)?.row ?? first;
  const rows = first === last ? `Row ${countText(first)} was` : `Rows ${countText(first)}-${countText(last)} were`;
  const docs = failure.docsUrl === undefined ? '' : `\nSee ${failure.docsUrl}`;
  const message = withFilePlaces(failure.message, records);
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

/** Replaces places such as `records[17].annual_revenue` by the row, line and field of the file. */
function withFilePlaces(message: string, records: readonly SentRecord[]): string {
  const named = (place: string, index: string, name?: string, quoted?: string): string => {
    const record = records[Number(index)];
    if (record === undefined) return place;
    const field = quoted ?? (name === undefined ? undefined : JSON.stringify(name));
    return `row ${record.row} (line ${record.line})${field === undefined ? '' : `, ${field}`}`;
  };
  return message.replace(new RegExp(recordPlace, 'g'), named);
}
