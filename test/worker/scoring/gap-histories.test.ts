import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { fieldsOf } from '../../../api/dispatch/parts.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { callIdGenerator, randomBase62 } from '../../../shared/contract/identifiers.js';
import { LatestScores } from '../../../shared/latest-scores/latest-scores.js';
import { ScoreNotes } from '../../../shared/latest-scores/note-scores.js';
import type { Cell } from '../../../shared/messages/cells.js';
import type { ScoredPart } from '../../../shared/messages/score-job.js';
import { eraseLead, erasingStores } from '../../../shared/store/calls/erasures.js';
import { callsCollection, type PredictionSegment, segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareCalls } from '../../../shared/store/lead-index/prepare-calls.js';
import { ModelRegistry } from '../../../worker/models/model-registry.js';
import { beginChunk } from '../../../worker/scoring/score-chunk.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { freshDatabases } from '../../support/service/servers.js';
import { runsOfTier } from '../../support/tier.js';

const leads = ['A', 'B', 'C'];
const models = ['mdl_one', 'mdl_two'] as const;
type ModelId = (typeof models)[number];
const startMs = Date.UTC(2026, 1, 10);

/** The fields of each version: the slots of a model have another order in its second version. */
const versions: Readonly<Record<string, readonly string[]>> = {
  'mdl_one 1': ['size', 'visits', 'pages'],
  'mdl_one 2': ['pages', 'size', 'calls'],
  'mdl_two 1': ['size', ...Array.from({ length: 26 }, (_, index) => `wide ${index}`), 'visits'],
};

const loaded = new Map(
  Object.entries(versions).map(([name, fields]) => {
    const features = fields.map(
      (field, column): Feature => ({ type: 'number', field, label: field, columns: [column], impute: column }),
    );
    return [name, checkBundle(sampleBundle({ features, weights: fields.map(() => 0.1) }))] as const;
  }),
);
const load = async (modelId: string, version: string) => loaded.get(`${modelId} ${version}`);

/** A call: the lead and the cells of each row. A row has fewer cells than some models have slots. */
interface Call {
  readonly modelId: ModelId;
  readonly rows: readonly (readonly [crmId: string | null, cells: readonly Cell[]])[];
}

/** A call at its time. */
interface ArrivedCall extends Call {
  readonly id: string;
  readonly nowMs: number;
}

/** A history that is played with the latest scores of Redis, or without any. */
class Scene {
  readonly replies: string[] = [];
  fieldReads = 0;
  private readonly latest: Pick<LatestScores, 'read'>;
  private readonly cache: LatestScores | undefined;
  private readonly notes: ScoreNotes | undefined;
  private readonly predictions: PredictionStore;
  private current: Record<ModelId, string> = { mdl_one: '1', mdl_two: '1' };

  constructor(
    private readonly shared: {
      readonly registry: ModelRegistry;
      readonly organisationId: string;
      readonly mongo: Mongo;
      readonly redis?: Redis;
    },
  ) {
    const { redis, mongo } = shared;
    this.cache = redis && new LatestScores(redis);
    this.notes = redis && new ScoreNotes(redis);
    this.latest = this.cache ?? { read: async () => ({ epoch: '', leads: [] }) };
    this.predictions = new PredictionStore(mongo.database);
  }

  /** Looks up and scores some calls, and then records and settles them in turn. */
  async score(calls: readonly ArrivedCall[]): Promise<void> {
    const versionsNow = { ...this.current };
    const replies: ScoredPart[] = [];
    for (const call of calls) replies.push(await this.scored(call, versionsNow[call.modelId]));
    for (const [index, call] of calls.entries()) {
      const reply = replies[index] as ScoredPart;
      const { epoch = '', ...answer } = reply;
      this.replies.push(JSON.stringify(answer));
      await this.record(call, { reply, epoch, version: versionsNow[call.modelId] });
    }
  }

  private async scored({ id, modelId, rows, nowMs }: ArrivedCall, version: string) {
    const predictions = {
      latest: (query: Parameters<PredictionStore['latest']>[0]) => this.predictions.latest(query),
      latestOwn: (query: Parameters<PredictionStore['latestOwn']>[0]) => this.predictions.latestOwn(query),
      storedRecords: (ids: readonly string[], timeoutMs: number) => {
        this.fieldReads += ids.length;
        return this.predictions.storedRecords(ids, timeoutMs);
      },
    };
    const { registry, organisationId: organisation } = this.shared;
    const part = { now: nowMs, explain: false, firstRow: 0, tolerant: true as const };
    const chunk = {
      ...{ chunk: id, partition: 0, gateway: 'gw', organisation, model: modelId, version },
      parts: [{ ...part, crmIds: rows.map(([crmId]) => crmId), rows: rows.map(([, cells]) => [...cells]) }],
    };
    const scoring = { registry, latest: this.latest, predictions, lookupTimeoutMs: 5_000, retentionDays: 760 };
    const { parts } = await beginChunk(chunk, scoring)();
    return parts[0] as ScoredPart;
  }

  private async record(
    { id, modelId, rows, nowMs }: ArrivedCall,
    { reply, epoch, version }: { readonly reply: ScoredPart; readonly epoch: string; readonly version: string },
  ): Promise<void> {
    const { organisationId } = this.shared;
    const sent = {
      now: nowMs,
      explain: false,
      firstRow: 0,
      crmIds: [],
      rows: rows.map(([, cells]) => JSON.stringify(cells)),
    };
    const { refused = [] } = reply;
    const crmIds = rows.flatMap(([crmId], index) => (refused.some(({ record }) => record === index) ? [] : [crmId]));
    if (crmIds.length === 0) return;
    const { scores, likelihoods, gaps = scores.map(() => 0) } = reply;
    const columns = { crmIds, scores, likelihoods, fields: fieldsOf([sent], [reply]) };
    const of = { callId: id, org: organisationId, model: modelId, version, at: new Date(nowMs) };
    await this.collection.insertMany(segmentsOf({ ...of, ...columns }));
    const latest = { modelId, version, crmIds, scores, gaps, epoch };
    await this.notes?.add([{ counter: { organisationId }, callId: id, latest }]);
  }

  async erase(crmId: string): Promise<void> {
    const lead = { organisationId: this.shared.organisationId, crmId };
    await eraseLead(erasingStores(this.shared.mongo.database), lead);
    await this.cache?.forgetLead(lead);
  }

  /** Promotes the other version of the first model, or rolls it back. */
  async change(): Promise<void> {
    this.current = { ...this.current, mdl_one: this.current.mdl_one === '1' ? '2' : '1' };
  }

  async drop(): Promise<void> {
    await this.cache?.forget(this.shared.organisationId);
  }

  async documents(): Promise<string> {
    const { organisationId: org } = this.shared;
    return JSON.stringify(await this.collection.find({ org }).sort({ _id: 1 }).toArray());
  }

  private get collection() {
    return this.shared.mongo.database.collection<PredictionSegment>(callsCollection);
  }
}

const lead = fc.constantFrom(...leads);
const cell = fc.constantFrom<Cell>(undefined, null, [], 1, 7, 'many');
const cells = fc.array(cell, { minLength: 3, maxLength: 3 });
const row = fc.tuple(fc.option(lead, { freq: 5 }), cells);
const call: fc.Arbitrary<Call> = fc.record({
  modelId: fc.constantFrom(...models),
  rows: fc.array(row, { minLength: 1, maxLength: 4 }),
});
type Step = readonly [name: string, take: (scene: Scene, arrive: (call: Call) => ArrivedCall) => Promise<void>];
const scoringStep = (calls: readonly Call[]): Step => [
  `score ${JSON.stringify(calls)}`,
  (scene, arrive) => scene.score(calls.map(arrive)),
];
const scoring = (most: number) => fc.array(call, { minLength: 1, maxLength: most }).map((calls) => scoringStep(calls));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: scoring(1) },
  { weight: 2, arbitrary: scoring(3) },
  { weight: 1, arbitrary: lead.map((crmId): Step => [`erase ${crmId}`, (scene) => scene.erase(crmId)]) },
  { weight: 1, arbitrary: fc.constant<Step>(['change the version', (scene) => scene.change()]) },
  { weight: 1, arbitrary: fc.constant<Step>(['drop the latest scores', (scene) => scene.drop()]) },
);

/** The second call lacks a value that the first one lacked, too. Few random histories have such calls. */
const sameGaps: Step[] = [1, 7].map((cell) =>
  scoringStep([{ modelId: 'mdl_one', rows: [['A', [undefined, cell, 1]]] }]),
);

describe('histories of leads with and without the latest scores of Redis', () => {
  const databases: Mongo[] = [];
  const registry = new ModelRegistry(
    { loadModel: load, loadBundle: load, loadManifest: async (...of) => (await load(...of))?.manifest },
    1024 * 1024,
  );
  let redis: Redis;

  before(async () => {
    for (const name of ['with', 'without']) {
      const mongo = await connectMongo((await freshDatabases()).mongoUrl, { name });
      databases.push(mongo);
      await prepareCalls(mongo.database);
    }
    redis = new Redis((await freshDatabases()).redisUrl);
  });
  after(async () => {
    await registry.close();
    redis.disconnect();
    for (const { client } of databases) await client.close();
  });

  it('have the same replies and documents, with fewer stored fields read', async () => {
    const reads = { with: 0, without: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25, size: 'max' }), async (steps) => {
        const organisationId = `org_${randomBase62(16)}`;
        const [withCache, without] = databases.map(
          (mongo, index) => new Scene({ registry, organisationId, mongo, ...(index === 0 && { redis }) }),
        ) as [Scene, Scene];
        const newCallId = callIdGenerator();
        let nowMs = startMs;
        for (const [, take] of steps) {
          const arrived: ArrivedCall[] = [];
          await take(withCache, (sent) => {
            nowMs += 1;
            const arriving = { ...sent, nowMs, id: newCallId(nowMs, organisationId) };
            arrived.push(arriving);
            return arriving;
          });
          await take(without, () => arrived.shift() as ArrivedCall);
        }
        expect(withCache.replies).to.deep.equal(without.replies);
        expect(await withCache.documents()).to.equal(await without.documents());
        reads.with += withCache.fieldReads;
        reads.without += without.fieldReads;
      }),
      { numRuns: runsOfTier(25, 75), examples: [[sameGaps]] },
    );
    expect(reads.with).to.be.above(0).and.below(reads.without);
  }).timeout(120_000);
});
