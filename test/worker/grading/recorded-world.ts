import type { Db } from 'mongodb';
import { dayMs, dayNumber } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { type CallDocument, callDocuments } from '../../../shared/store/calls/call-documents.js';
import { eraseLead, erasingStores } from '../../../shared/store/calls/erasures.js';
import { bandOf, callsCollection, predictionId, segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';
import { type Outcome, OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import type { CohortFigures } from '../../../worker/grading/gates/cohort-figures.js';

export interface WorldIds {
  readonly organisationId: string;
  readonly modelId: string;
  readonly version: string;
}

/** One row of a call: a score, and the lead if any. */
export interface RowToScore {
  readonly crmId: string | undefined;
  readonly score: number;
}

/** The current state of a recorded row. */
export interface RecordedRow {
  readonly id: string;
  /** Undefined without a crm_id, and after erasure. */
  readonly crmId: string | undefined;
  readonly score: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
  readonly at: Date;
  readonly isErased: boolean;
  /** Whether a stored lead was scored again. */
  readonly isStored: boolean;
}

const likelihoodOf = (score: number): number => score * 50;
const earlierPrevious = (ms: number) => ({ changed_at: { $subtract: ['$previous.changed_at', ms] } });

/** Writes calls and outcomes into the collections like the service, and counts the true figures in memory. */
export class RecordedWorld {
  readonly rows: RecordedRow[] = [];
  readonly words = new Map<string, Outcome>();
  private readonly ledger: LedgerRow[] = [];
  private readonly newCallId = callIdGenerator();

  constructor(
    private readonly database: Db,
    private readonly ids: WorldIds,
  ) {}

  /** Records a call that was scored and counted. @param source `stored` if it scored stored leads again */
  async call(atMs: number, rows: readonly RowToScore[], source?: 'stored'): Promise<void> {
    const { organisationId: org, modelId: model, version } = this.ids;
    const callId = this.newCallId(atMs, org);
    const at = new Date(atMs);
    const segments = segmentsOf({
      ...{ callId, org, model, version, at },
      crmIds: rows.map(({ crmId }) => crmId ?? null),
      scores: rows.map(({ score }) => score),
      likelihoods: rows.map(({ score }) => likelihoodOf(score)),
      fields: rows.map(() => '[]'),
      source,
    });
    const month = at.toISOString().slice(0, 7);
    const counted = {
      org,
      key: 'key',
      bucket: 'live',
      month,
      records: rows.length,
      model,
      version,
      at,
    } as const;
    const row: LedgerRow = { _id: callId, request_id: callId, ...counted, ...(source && { source }) };
    await this.database.collection<CallDocument>(callsCollection).insertMany(callDocuments(row, segments));
    this.ledger.push(row);
    for (const [index, { crmId, score }] of rows.entries()) {
      const likelihood = likelihoodOf(score);
      this.rows.push({
        id: predictionId(callId, index),
        crmId,
        score,
        likelihood,
        at,
        isErased: false,
        isStored: source !== undefined,
      });
    }
  }

  async outcomes(outcomes: readonly Outcome[], receivedMs: number): Promise<void> {
    const { organisationId } = this.ids;
    await new OutcomeStore(this.database).record({
      organisationId,
      outcomes,
      receivedAt: new Date(receivedMs),
    });
    for (const outcome of outcomes) {
      const before = this.words.get(outcome.crmId);
      const isSecond = before?.converted === true && outcome.converted && before.at <= outcome.at;
      if (!isSecond) this.words.set(outcome.crmId, outcome);
    }
  }

  /** Erases a lead like `DELETE /v1/scores/{crm_id}`. */
  async erase(crmId: string): Promise<void> {
    const { organisationId } = this.ids;
    await eraseLead(erasingStores(this.database), { organisationId, crmId });
    for (const [index, row] of this.rows.entries()) {
      if (row.crmId === crmId) this.rows[index] = { ...row, crmId: undefined, isErased: true };
    }
    this.words.delete(crmId);
  }

  /** Advances the database's clock by shifting all its timestamps back, so that a grade can order later changes. */
  async age(ms: number): Promise<void> {
    const { organisationId: org, modelId, version } = this.ids;
    const earlier = (...fields: string[]) => ({
      $set: Object.fromEntries(fields.map((field) => [field, { $subtract: [`$${field}`, ms] }])),
    });
    const previous = {
      $cond: ['$previous', { $mergeObjects: ['$previous', earlierPrevious(ms)] }, '$$REMOVE'],
    };
    await this.database.collection('outcomes').updateMany({ org }, [earlier('changed_at'), { $set: { previous } }]);
    const graded = `${modelId}:${version}`;
    await this.database.collection('validation_daily').updateMany({ graded }, [earlier('read_at')]);
    await this.database
      .collection<{ _id: string }>('model_validation')
      .updateMany({ _id: graded }, [earlier('grade.data_read_at')]);
  }

  /** Counts the cohort by definition, row by row. */
  truth(asOfMs: number, horizonDays: number): Omit<CohortFigures, 'requests' | 'expectedLift' | 'joinable'> {
    const rows = this.rows
      .filter((row) => dayNumber(row.at.getTime()) <= dayNumber(asOfMs))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
    const seen = new Set<string>();
    const counts = { cohort: 0, joined: 0, matured: 0 };
    const leftOut = { repeats: 0, withoutCrmId: 0, excluded: 0, erased: 0 };
    const scoredBands = new Set<number>();
    const bands = [0, 1, 2, 3, 4].map(() => ({ records: 0, conversions: 0, expected: 0 }));
    for (const row of rows) {
      const word = row.crmId === undefined ? undefined : this.words.get(row.crmId);
      if (row.crmId === undefined) leftOut[row.isErased ? 'erased' : 'withoutCrmId'] += 1;
      else if (row.isStored || seen.has(row.crmId)) leftOut.repeats += 1;
      else if (word?.converted === true && word.at <= row.at) leftOut.excluded += 1;
      else {
        const hasMatured = row.at.getTime() + horizonDays * dayMs <= asOfMs;
        counts.cohort += 1;
        scoredBands.add(bandOf(row.score));
        if (word !== undefined) counts.joined += 1;
        if (hasMatured) counts.matured += 1;
        const band = bands[bandOf(row.score)];
        if (hasMatured && word !== undefined && band !== undefined) {
          const delayMs = word.at.getTime() - row.at.getTime();
          band.records += 1;
          band.conversions += word.converted && delayMs <= horizonDays * dayMs ? 1 : 0;
          band.expected += row.likelihood / 10_000;
        }
      }
      if (row.crmId !== undefined && !row.isStored) seen.add(row.crmId);
    }
    return { ...counts, leftOut, scoredBands: scoredBands.size, bands, horizonDays };
  }
}
