import { seededRandom } from '../../leads/seeded-random.js';
import type { FleetOrganisation } from './fleet-accounts.js';
import { crmIdOf, fleetRecords } from './fleet-predictions.js';
import { batchRecords, newBatchEvery } from './fleet-size.js';

/** One call of `POST /v1/score`. */
export interface FleetCall {
  readonly secret: string;
  readonly body: string;
  readonly records: number;
}

/** Organisations that are called, each with one of its models or some in turn, and their leads. */
export interface Called {
  readonly organisations: readonly FleetOrganisation[];
  /** Index of the called model among the models of each organisation; -1 is the last. */
  readonly modelAt: number;
  /** So many models from that index on are called in turn, and no batch has new leads; one model without it. */
  readonly inTurn?: number;
  /** Leads of each organisation that are scored again and again. */
  readonly hotLeads: number;
  /** Number of the first of them; 0 by default. */
  readonly firstLead?: number;
}

/** Above the numbers of all stored leads. */
const firstNewLead = 1_000_000_000;
let newLeads = 0;

/** Makes calls of random organisations and of random leads among the hot ones. */
export class FleetCalls {
  private readonly random = seededRandom(20_261_123);
  private readonly records = fleetRecords(Date.now()).map((record) => JSON.stringify(record).slice(1));
  private batches = 0;
  private calls = 0;

  constructor(private readonly called: Called) {}

  /** Whether the organisations have no hot leads. */
  get isCold(): boolean {
    return this.called.hotLeads === 0;
  }

  single(): FleetCall {
    return this.hotCall([this.hotLead()]);
  }

  /** One batch in `newBatchEvery` is of new leads, unless models take turns. */
  batch(): FleetCall {
    this.batches += 1;
    if (this.isCold || (this.called.inTurn === undefined && this.batches % newBatchEvery === 0)) return this.newBatch();
    const first = this.hotLead();
    return this.hotCall(Array.from({ length: batchRecords }, (_, row) => (first + row) % this.called.hotLeads));
  }

  newBatch(): FleetCall {
    return this.call(Array.from({ length: batchRecords }, () => firstNewLead + newLeads++));
  }

  /** Calls that score every hot lead of every organisation once. */
  *everyHotLead(): Generator<FleetCall> {
    for (const organisation of this.called.organisations)
      for (let from = 0; from < this.called.hotLeads; from += batchRecords)
        yield this.hotCall(
          Array.from({ length: Math.min(batchRecords, this.called.hotLeads - from) }, (_, row) => from + row),
          organisation,
        );
  }

  /** @param leads their indexes among the hot leads */
  private hotCall(leads: readonly number[], organisation?: FleetOrganisation): FleetCall {
    const { firstLead = 0 } = this.called;
    return this.call(
      leads.map((lead) => firstLead + lead),
      organisation,
    );
  }

  /** The index of a random hot lead. */
  private hotLead(): number {
    return this.random.integer(0, this.called.hotLeads - 1);
  }

  private call(leads: readonly number[], organisation = this.random.pick(this.called.organisations)): FleetCall {
    const { secret, modelIds } = organisation;
    const rows = leads.map((lead) => `{"crm_id":"${crmIdOf(lead)}",${this.records[lead % this.records.length]}`);
    const { modelAt, inTurn = 1 } = this.called;
    const modelId = modelIds.at(modelAt + (this.calls++ % inTurn));
    const body = `{"model_id":"${modelId}","records":[${rows.join()}]}`;
    return { secret, body, records: leads.length };
  }
}
