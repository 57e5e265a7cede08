import { CliError } from '../../context/cli-error.js';
import { countText } from '../../output/readable-numbers.js';
import type { Batch, BatchRow } from '../input/record-batches.js';
import { type InputSums, readInputSummary } from '../output/input-sums.js';
import type { ApiFailure, ReplyUsage, ReplyValidation, RowOutcome, ScoreReply } from './api-reply.js';
import type { RecordedCalls } from './recorded-calls.js';
import { RefusalMemory, recordPath, refusedRecords } from './refused-records.js';
import { CallRefused } from './score-client.js';

/** The constant part of all calls of a run. */
export interface CallTemplate {
  readonly modelId: string;
  readonly explain: boolean;
}

/** A batch with its scores. */
export interface ScoredBatch {
  readonly batch: Batch;
  /** One for each row of the batch. */
  readonly outcomes: readonly RowOutcome[];
  /** Ids of the calls that were made for it. */
  readonly calls: readonly string[];
  /** Numbers of the held results that are among its outcomes. */
  readonly took: readonly number[];
  readonly usage: ReplyUsage | undefined;
  readonly validation: ReplyValidation | undefined;
  /** How the fields of the rows were read that this run has sent, one for each call. */
  readonly inputs: readonly InputSums[];
}

/** Scores batches. A record that the service refuses costs only its own row. */
export class BatchScorer {
  private readonly memory = new RefusalMemory();
  private readonly limits: ServiceLimits = { refusedBytes: Number.POSITIVE_INFINITY, hasScored: false, strikes: 0 };

  constructor(
    private readonly calls: Pick<RecordedCalls, 'score'>,
    private readonly template: CallTemplate,
  ) {}

  /** @throws CliError that names rows and lines of the file; AbortError when the run is stopped */
  async score(batch: Batch): Promise<ScoredBatch> {
    const outcomes = new Map<BatchRow, RowOutcome>();
    const toSend: BatchRow[] = [];
    const took: number[] = [];
    for (const row of batch.rows) {
      const held = row.problem === undefined ? await heldOutcome(row) : undefined;
      if (row.problem !== undefined) outcomes.set(row, { error: row.problem });
      else if (held === undefined) toSend.push(row);
      else outcomes.set(row, held);
      if (held !== undefined && row.held !== undefined) took.push(row.held.number);
    }
    const { calls, template, memory, limits } = this;
    const rounds = new Rounds({ calls, template, memory, limits, outcomes });
    await rounds.send(toSend);
    return {
      batch,
      outcomes: batch.rows.map((row) => outcomes.get(row) ?? { error: 'The service did not answer for this row' }),
      calls: rounds.ids,
      took,
      usage: rounds.last?.usage,
      validation: rounds.last?.validation,
      inputs: rounds.inputs,
    };
  }
}

async function heldOutcome({ held, record }: BatchRow): Promise<RowOutcome | undefined> {
  try {
    return await held?.outcome();
  } catch (error) {
    throw error instanceof CallRefused ? refusal(error, [record]) : error;
  }
}

/** Limits of the service, as far as a run has met them. */
interface ServiceLimits {
  /** Size in bytes of the smallest body that the service has refused. */
  refusedBytes: number;
  hasScored: boolean;
  /** Single records that were refused without being named, before any was scored. */
  strikes: number;
}

/** After so many the fault is probably not in the records. */
const maxStrikes = 3;

/** The calls for one batch, one after another. */
class Rounds {
  readonly ids: string[] = [];
  readonly inputs: InputSums[] = [];
  last: ScoreReply | undefined;

  constructor(
    private readonly parts: {
      readonly calls: Pick<RecordedCalls, 'score'>;
      readonly template: CallTemplate;
      readonly memory: RefusalMemory;
      readonly limits: ServiceLimits;
      /** Receives the outcomes. */
      readonly outcomes: Map<BatchRow, RowOutcome>;
    },
  ) {}

  /** Sends rows in as few calls as the faults of some allow. */
  async send(rows: readonly BatchRow[]): Promise<void> {
    const { sound, alike, badIds } = this.parts.memory.divide(rows.map(textOf));
    for (const [index, reason] of badIds) this.refuse(rows[index], reason);
    await this.call(at(rows, sound), false);
    await this.call(at(rows, alike), true);
  }

  /** @param areAlike whether all rows resemble a refused one */
  private async call(rows: readonly BatchRow[], areAlike: boolean): Promise<void> {
    if (rows.length === 0) return;
    const { calls, limits, template } = this.parts;
    const body = bodyOf(rows, template);
    const bytes = Buffer.byteLength(body);
    if (bytes >= limits.refusedBytes && rows.length > 1) return this.halves(rows, areAlike);
    try {
      const { id, reply } = await calls.score({ body, digests: rows.map(({ digest }) => digest) });
      this.ids.push(id);
      this.last = reply;
      const input = readInputSummary(reply);
      if (input !== undefined) this.inputs.push(input);
      limits.hasScored = true;
      for (const [index, row] of rows.entries()) {
        const scored = reply.scores[index];
        if (scored !== undefined) this.parts.outcomes.set(row, { scored });
      }
    } catch (error) {
      if (!(error instanceof CallRefused)) throw error;
      await this.afterRefusal(error, { rows, bytes, areAlike });
    }
  }

  private async afterRefusal(
    error: CallRefused,
    {
      rows,
      bytes,
      areAlike,
    }: { readonly rows: readonly BatchRow[]; readonly bytes: number; readonly areAlike: boolean },
  ): Promise<void> {
    const { limits, memory } = this.parts;
    const { failure } = error;
    const refused = error.mayBeCounted ? undefined : refusedRecords(failure, rows.length);
    if (refused !== undefined) {
      const named = new Map(refused.named.map((record) => [rows[record.index], record]));
      for (const [row, record] of named) {
        if (row !== undefined) memory.add(record, textOf(row));
        this.refuse(row, record.reason);
      }
      const others = rows.filter((row) => !named.has(row));
      // The message counts them all, but names only the first.
      const areAllRefused = areAlike && refused.alikeRecords === rows.length;
      if (!areAllRefused) return this.send(others);
      for (const row of others) this.refuse(row, refused.named[0]?.reason ?? failure.message);
      return;
    }
    if (error.mayBeCounted || !mayBeOfRecords(failure))
      throw refusal(
        error,
        rows.map(({ record }) => record),
      );
    if (rows.length > 1) {
      if (failure.status !== 422) limits.refusedBytes = Math.min(limits.refusedBytes, bytes);
      return this.halves(rows, areAlike);
    }
    if (!limits.hasScored) limits.strikes += 1;
    if (limits.strikes >= maxStrikes)
      throw refusal(
        error,
        rows.map(({ record }) => record),
      );
    this.refuse(rows[0], failure.message.replace(/\.$/, ''));
  }

  private async halves(rows: readonly BatchRow[], areAlike: boolean): Promise<void> {
    const middle = Math.ceil(rows.length / 2);
    await this.call(rows.slice(0, middle), areAlike);
    await this.call(rows.slice(middle), areAlike);
  }

  private refuse(row: BatchRow | undefined, error: string): void {
    if (row !== undefined) this.parts.outcomes.set(row, { error });
  }
}

const textOf = ({ record }: BatchRow): string => record.text ?? '{}';

const at = (rows: readonly BatchRow[], indexes: readonly number[]): BatchRow[] =>
  indexes.flatMap((index) => rows[index] ?? []);

function bodyOf(rows: readonly BatchRow[], { modelId, explain }: CallTemplate): string {
  return `{"model_id":${JSON.stringify(modelId)},${explain ? '"explain":true,' : ''}"input_report":"summary","records":[${rows.map(textOf).join(',')}]}`;
}

/**
 * A refusal that names no record is about the size of the body, or about a record that the service could not read. 413
 * is of a proxy.
 */
const mayBeOfRecords = ({ code, status }: ApiFailure): boolean =>
  status === 413 || ((status === 400 || status === 422) && code === 'bad_request');

type FileRow = BatchRow['record'];

function refusal({ failure, mayBeCounted }: CallRefused, records: readonly FileRow[]): CliError {
  const first = records[0]?.row ?? 0;
  const last = records.at(-1)?.row ?? first;
  const rows = first === last ? `Row ${countText(first)} was` : `Rows ${countText(first)}-${countText(last)} were`;
  const docs = failure.docsUrl === undefined ? '' : `\nSee ${failure.docsUrl}`;
  const message = withFilePositions(failure.message, records);
  return new CliError(
    failure.status === 0
      ? `${rows} not scored: ${message}`
      : `${rows} refused: ${message} (${failure.code}, status ${failure.status})${docs}`,
    {
      code: failure.code,
      details: {
        status: failure.status,
        rows: { first, last },
        ...(mayBeCounted ? { may_be_counted: true } : {}),
        ...(failure.docsUrl === undefined ? {} : { docs_url: failure.docsUrl }),
        ...(failure.requestId === undefined ? {} : { request_id: failure.requestId }),
      },
    },
  );
}

/** Replaces paths such as `records[17].annual_revenue` by the row, line and field of the file. */
function withFilePositions(message: string, records: readonly FileRow[]): string {
  const named = (path: string, index: string, name?: string, quoted?: string): string => {
    const record = records[Number(index)];
    if (record === undefined) return path;
    const field = quoted ?? (name === undefined ? undefined : JSON.stringify(name));
    return `row ${record.row} (line ${record.line})${field === undefined ? '' : `, ${field}`}`;
  };
  return message.replace(new RegExp(recordPath, 'g'), named);
}
