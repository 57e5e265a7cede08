import type { Db } from 'mongodb';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import type { Feature } from '../../../../shared/bundle/manifest/manifest.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { eraseLead, erasingStores } from '../../../../shared/store/calls/erasures.js';
import {
  callsCollection,
  type PredictionSegment,
  segmentColumns,
  segmentsOf,
} from '../../../../shared/store/calls/prediction-segment.js';
import { createModel, storeVersion } from '../../../../shared/store/models/store-version.js';
import { OutcomeStore } from '../../../../shared/store/validation/outcomes.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { newIds } from '../../../worker/grading/grade-at.js';
import type { WorldIds } from '../../../worker/grading/recorded-world.js';

/** A row of a stored call. */
interface WorldRow {
  readonly crmId: string | null;
  /** By slot of its version. */
  readonly cells?: readonly unknown[];
  readonly score?: number;
}

/** The earlier version reads two of the three fields, in another order. */
const earlierFeatures: readonly Feature[] = [
  { field: 'demo_requested', label: 'Demo requested', type: 'boolean', columns: [0], impute: 0 },
  { field: 'company_size', label: 'Company size', type: 'number', columns: [1], impute: 0 },
];

/** The recorded calls and outcomes of a model with the versions 1.0.0 and 2.0.0. The second scores calls. */
export class StoredWorld {
  private readonly newCallId = callIdGenerator();

  private constructor(
    private readonly database: Db,
    readonly ids: WorldIds,
  ) {}

  static async create(
    database: Db,
    given: Pick<WorldIds, 'organisationId' | 'modelId'> = newIds(),
  ): Promise<StoredWorld> {
    const { organisationId, modelId } = given;
    const earlier = sampleBundle({ version: '1.0.0', features: earlierFeatures });
    for (const files of [earlier, sampleBundle({ version: '2.0.0' })])
      await storeVersion({ database, organisationId, modelId, bundle: checkBundle(files), now: new Date() });
    return new StoredWorld(database, { organisationId, modelId, version: '2.0.0' });
  }

  /** As `create`, with the document of the model. */
  static async ofOrganisation(database: Db, organisationId: string): Promise<StoredWorld> {
    const bundle = checkBundle(sampleBundle({ version: '2.0.0' }));
    const { _id: modelId } = await createModel(database, { organisationId, bundle, now: new Date() });
    return await StoredWorld.create(database, { organisationId, modelId });
  }

  /** Stores a call as a gateway did at that time, without its ledger row. @returns its id */
  async call(at: string, rows: readonly WorldRow[], version = '2.0.0', source?: 'stored'): Promise<string> {
    const { organisationId: org, modelId: model } = this.ids;
    const date = new Date(at);
    const callId = this.newCallId(date.getTime(), org);
    const scores = rows.map(({ score = 50 }) => score);
    const segments = segmentsOf({
      ...{ callId, org, model, version, at: date, scores },
      crmIds: rows.map(({ crmId }) => crmId),
      likelihoods: scores.map((score) => score * 100),
      fields: rows.map(({ cells = [] }) => JSON.stringify(cells)),
    });
    await this.calls.insertMany(segments.map((segment) => ({ ...segment, ...(source && { source }) })));
    return callId;
  }

  /** Takes the records from a call, as when it is voided. */
  async void(callId: string): Promise<void> {
    await this.calls.updateOne({ _id: callId }, { $unset: segmentColumns });
  }

  async outcome(
    crmId: string,
    of: { readonly converted: boolean; readonly at: string },
    received: string,
  ): Promise<void> {
    await this.outcomes([{ crmId, converted: of.converted }], of.at, received);
  }

  /** Outcomes of the same time. */
  async outcomes(
    outcomes: readonly { readonly crmId: string; readonly converted: boolean }[],
    at: string,
    received: string,
  ): Promise<void> {
    await new OutcomeStore(this.database).record({
      organisationId: this.ids.organisationId,
      outcomes: outcomes.map((each) => ({ ...each, at: new Date(at) })),
      receivedAt: new Date(received),
    });
  }

  async erase(crmId: string): Promise<void> {
    await eraseLead(erasingStores(this.database), { organisationId: this.ids.organisationId, crmId });
  }

  private get calls() {
    return this.database.collection<PredictionSegment>(callsCollection);
  }
}
