import { dayMs } from '../../../shared/contract/dates.js';
import { callIdGenerator, newId } from '../../../shared/contract/identifiers.js';
import { callDocuments } from '../../../shared/store/calls/call-documents.js';
import { bandOf, callsCollection, segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { OutcomeStore, outcomeId } from '../../../shared/store/validation/outcomes.js';
import { seededRandom } from '../../leads/seeded-random.js';

/** Likelihood of a conversion in ten-thousandths; it grows with the score band. */
const likelihoodOf = (score: number): number => 200 + 150 * bandOf(score);
/** Spreads the crm_ids of successive leads over the index, as in a CRM. */
const crmIdOf = (lead: number): string => `LEAD-${String((lead * 7_919) % 10_000_019).padStart(8, '0')}`;

const callRecords = 250;
/** One prediction in ten is of an earlier lead. */
const repeatedShare = 0.1;
/** Stored fields of a record with sixteen fields. */
const fields = JSON.stringify(Array.from({ length: 16 }, (_, index) => `a value ${index}`));

/** Generated predictions of one model and the outcomes of its leads. */
export class GradingData {
  readonly ids = { organisationId: newId('org'), modelId: newId('mdl'), version: '1' };
  /** Number of leads so far. */
  leads = 0;
  private readonly random = seededRandom(1);
  private readonly newCallId = callIdGenerator();

  constructor(private readonly database: Db) {}

  /**
   * Writes predictions, ledger rows and one outcome per new lead into the collections, as a day of calls leaves them.
   * @param dayStartMs midnight, Unix ms
   * @param changedAt arrival of the outcomes by the database's clock
   */
  async writeDay(dayStartMs: number, predictions: number, changedAt: Date): Promise<void> {
    const { random } = this;
    const { organisationId: org, modelId: model, version } = this.ids;
    const calls: object[] = [];
    const outcomes: object[] = [];
    for (let done = 0; done < predictions; done += callRecords) {
      const at = new Date(dayStartMs + Math.floor((done / predictions) * dayMs));
      const rows = Array.from({ length: Math.min(callRecords, predictions - done) }, () => {
        const isRepeat = this.leads > 0 && random.chance(repeatedShare);
        const crmId = crmIdOf(isRepeat ? random.integer(0, this.leads - 1) : this.leads++);
        const score = random.integer(0, 100);
        if (isRepeat) return { crmId, score };
        const converted = random.chance(likelihoodOf(score) / 10_000);
        const convertedAt = new Date(at.getTime() + random.integer(1, 120) * dayMs);
        const outcome = { _id: outcomeId(org, crmId), org, crm_id: crmId, converted, at: convertedAt };
        outcomes.push({ ...outcome, received_at: convertedAt, changed_at: changedAt });
        return { crmId, score };
      });
      const callId = this.newCallId(at.getTime(), org);
      const segments = segmentsOf({
        ...{ callId, org, model, version, at },
        crmIds: rows.map(({ crmId }) => crmId),
        scores: rows.map(({ score }) => score),
        likelihoods: rows.map(({ score }) => likelihoodOf(score)),
        fields: rows.map(() => fields),
      });
      const month = at.toISOString().slice(0, 7);
      const counted = { org, key: 'key', bucket: 'live', month, records: rows.length, model, version, at } as const;
      calls.push(...callDocuments({ _id: callId, request_id: callId, ...counted }, segments));
    }
    await Promise.all([
      this.database.command({ insert: callsCollection, documents: calls }),
      this.database.command({ insert: 'outcomes', documents: outcomes }),
    ]);
  }

  /** Moves the grades so far back by a day on the database's clock, so that later writes are newer by a day. */
  async letDayPass(): Promise<void> {
    const graded = `${this.ids.modelId}:${this.ids.version}`;
    const dayEarlier = (field: string) => [{ $set: { [field]: { $subtract: [`$${field}`, dayMs] } } }];
    await this.database.collection('validation_daily').updateMany({ graded }, dayEarlier('read_at'));
    const verdicts = this.database.collection<{ _id: string }>('model_validation');
    await verdicts.updateOne({ _id: graded }, dayEarlier('grade.data_read_at'));
  }

  /**
   * Records conversions of evenly picked leads.
   * @param leads numbers of the first lead and of the lead behind the last
   * @param at time of the conversions and of their report
   */
  async convert([from, to]: readonly [number, number], count: number, at: Date): Promise<void> {
    const outcomes = Array.from({ length: count }, (_, index) => {
      const lead = from + Math.floor(((index + 0.5) / count) * (to - from));
      return { crmId: crmIdOf(lead), converted: true, at };
    });
    const { organisationId } = this.ids;
    await new OutcomeStore(this.database).record({ organisationId, outcomes, receivedAt: at });
  }
}
