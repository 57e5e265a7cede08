import { once } from 'node:events';
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { maxValues } from '../../../api/request/parse-json.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { LatestScores } from '../../../shared/latest-scores/latest-scores.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import {
  type ChunkReply,
  maxChunkRecords,
  type OutgoingPart,
  smallChunkRecords,
} from '../../../shared/messages/score-job.js';
import { replyStreamKey } from '../../../shared/redis/keys.js';
import { callsCollection, segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { prepareCalls } from '../../../shared/store/lead-index/prepare-calls.js';
import { ModelRegistry } from '../../../worker/models/model-registry.js';
import { beginChunk } from '../../../worker/scoring/score-chunk.js';
import { longestIterationMs } from '../../support/beats.js';
import { gateway, type LaneRig, laneRig } from '../../support/lane-rig.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { freshMongoUrl, testServers } from '../../support/service/servers.js';
import { itInFull } from '../../support/tier.js';

/** An iteration of the event loop takes less CPU time than this, for any body that the gateway accepts. */
const maxIterationMs = 250;
const maxBodyBytes = 8 * 1024 * 1024;
const maxList = 65_536;
const maxValue = 4_096;
const maxStoredLength = 16 * 1024;
const fieldsOfType = 140;
const guarded = 'date 0';

function features(): Feature[] {
  let columns = 0;
  const column = () => columns++;
  return Array.from({ length: fieldsOfType }, (_, index): Feature[] => {
    const named = (type: string) => ({ field: `${type} ${index}`, label: `${type} ${index}` });
    const categories = ['Alpha', 'Beta'];
    return [
      { ...named('list'), type: 'multi', categories, columns: [column(), column()] },
      { ...named('text'), type: 'category', encoding: 'onehot', categories, columns: [column(), column()] },
      { ...named('number'), type: 'number', columns: [column()], impute: 0 },
      { ...named('date'), type: 'date', columns: [column()], impute: 0 },
    ];
  }).flat();
}

type Fields = Readonly<Record<string, unknown>>;

/** Records of `value` in all fields of a type, as many as a body and a chunk hold. */
function filled(type: string, value: unknown): Fields[] {
  const bytes = Buffer.byteLength(JSON.stringify(value)) + 16;
  const cells = Math.min(Math.floor(maxBodyBytes / bytes), maxChunkRecords * fieldsOfType);
  const records: Record<string, unknown>[] = [];
  for (let cell = 0; cell < cells; cell += 1) {
    const index = cell % fieldsOfType;
    if (index === 0) records.push({});
    // Different texts, because a reader caches short ones.
    const text = typeof value === 'string' ? `${value.slice(0, -3)}${String(cell % 1_000).padStart(3, '0')}` : value;
    Object.assign(records.at(-1) ?? {}, { [`${type} ${index}`]: text });
  }
  return records;
}

const thirtyMarks = `a${'\u0345\u0301\u0316'.repeat(10)}`;
const repeated = (text: string, length: number) => text.repeat(Math.floor(length / text.length));

const hostile: Readonly<Record<string, () => Fields[]>> = {
  'lists with 32,768 parts': () => filled('list', repeated('\u00fc;', maxList)),
  'lists with 32,768 parts that NFKC makes long': () => filled('list', repeated('\ufdfa;', maxList)),
  'lists that NFKC makes 18 times as long': () => filled('list', repeated('\ufdfa', maxList)),
  'lists with thirty marks a letter': () => filled('list', repeated(thirtyMarks, maxList)),
  'lists with 65,000 marks on one letter': () => filled('list', `a${repeated('\u0345\u0301\u0316', maxList - 2)}`),
  'arrays of 60 long lists': () => filled('list', Array(60).fill(repeated('\ufdfa;', maxList / 2))),
  'arrays of as many numbers as a body may have': () =>
    Array(Math.floor(maxValues.ofBatch / maxValues.ofRecord)).fill({
      'list 0': Array(maxValues.ofRecord - 10).fill(1),
    }),
  'texts with thirty marks a letter': () => filled('text', repeated(thirtyMarks, maxValue)),
  'texts that NFKC makes 18 times as long': () => filled('text', repeated('\ufdfa', maxValue)),
  'endless numbers': () => filled('number', repeated('1,', maxValue)),
  'endless numbers in another script': () => filled('number', repeated('\uff11', maxValue)),
  'endless dates': () => filled('date', repeated('2026-01-01T', maxValue)),
  'long texts in the field of the recency guard': () =>
    Array(maxChunkRecords).fill({ [guarded]: repeated('\ufdfa', maxValue) }),
  'records of short texts in all fields': () => filled('text', thirtyMarks),
};

/** One of each type, and the longest. */
const ofFirstTier = new Set([
  'lists with 32,768 parts',
  'texts with thirty marks a letter',
  'endless numbers',
  'endless dates',
]);

describe('a hostile chunk', () => {
  const bundle = checkBundle(
    sampleBundle({ features: features(), manifest: { recency: { field: guarded, max_age_days: 90 } } }),
  );
  const knownFields = compileKnownFields(bundle.manifest);
  let registry: ModelRegistry;
  let mongo: MongoClient;
  let rig: LaneRig;

  before(async () => {
    mongo = new MongoClient(freshMongoUrl((await testServers()).mongoUrl));
    const loadManifest = async () => bundle.manifest;
    registry = new ModelRegistry({ loadModel: async () => bundle, loadBundle: async () => bundle, loadManifest }, 1);
    const predictions = new PredictionStore(mongo.db());
    await prepareCalls(mongo.db());
    rig = await laneRig(({ commands }) => {
      const latest = new LatestScores(commands);
      return (chunk) =>
        beginChunk(chunk, { registry, latest, predictions, lookupTimeoutMs: 60_000, retentionDays: 365 });
    });
    await expectShortIterations('first', [partOf([{ 'text 0': 'Alpha' }])]);
  });
  after(async () => {
    await rig.close();
    await registry.close();
    await mongo.close();
  });

  const rowOf = (fields: Fields) => JSON.stringify(knownFields.pack(fields));
  const partOf = (records: readonly Fields[], crmId: (index: number) => string | null = () => null): OutgoingPart => ({
    now: Date.now(),
    explain: true,
    firstRow: 0,
    crmIds: records.map((_, index) => crmId(index)),
    rows: records.map(rowOf),
  });

  /** Scores the parts as one chunk, and returns its reply. */
  async function expectShortIterations(chunk: string, parts: readonly OutgoingPart[]): Promise<ChunkReply> {
    const iterationMs = await longestIterationMs(async () => {
      const completed = once(rig.worker, 'completed');
      await rig.send(chunk, { inJob: false, parts });
      await completed;
    }, maxIterationMs);
    process.stdout.write(`    measured ${iterationMs.toFixed(0)} ms of CPU time in the longest iteration\n`);
    const [[, [, text]] = ['', []]] = (await rig.redis.xrevrange(replyStreamKey(gateway), '+', '-', 'COUNT', 1)) as [
      string,
      string[],
    ][];
    expect(iterationMs, 'ms of CPU time in the longest iteration').to.be.below(maxIterationMs);
    const reply = JSON.parse(text ?? '') as ChunkReply;
    expect(reply.chunk).to.equal(chunk);
    expect(reply).not.to.have.property('failure');
    return reply;
  }

  for (const [what, records] of Object.entries(hostile))
    (ofFirstTier.has(what) ? it : itInFull)(
      `leaves iterations of the event loop to other chunks: ${what}`,
      async function () {
        this.timeout(120_000);
        const { parts } = await expectShortIterations(what, [partOf(records())]);
        expect(parts[0]).to.have.property('scores');
      },
    );

  itInFull(
    'leaves iterations of the event loop to other chunks when stored lists fill in its records',
    async function () {
      this.timeout(120_000);
      const text = repeated('\ufdfa;', maxStoredLength - 8 * fieldsOfType);
      const crmIds = Array.from({ length: maxChunkRecords }, (_, index) => `lead ${index}`);
      const scored = { org: 'org', model: 'mdl', version: '1', at: new Date() };
      const fields = crmIds.map(() => rowOf({ 'list 0': text }));
      const column = crmIds.map(() => 50);
      const segments = segmentsOf({
        ...scored,
        crmIds,
        fields,
        scores: column,
        likelihoods: column,
        callId: callIdGenerator()(Date.now(), scored.org),
      });
      await mongo.db().collection<{ _id: string }>(callsCollection).insertMany(segments);
      const ofRecords = async (count: number) => {
        const records = crmIds.slice(0, count).map(() => ({ 'text 0': 'Alpha' }));
        return await expectShortIterations(`${count} stored`, [partOf(records, (index) => crmIds[index] ?? null)]);
      };
      const small = await ofRecords(smallChunkRecords);
      expect(small.parts[0]).to.have.property('filled').with.length(smallChunkRecords);
      // Their gateway sends them again in small chunks.
      expect((await ofRecords(maxChunkRecords)).parts).to.deep.equal([{ isTooLong: true }]);
    },
  );
});
