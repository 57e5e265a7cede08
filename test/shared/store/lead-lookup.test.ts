import { expect } from 'chai';
import { BSON, type CommandStartedEvent, type Document, MongoClient } from 'mongodb';
import { seededRandom } from '../../../scripts/leads/seeded-random.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { callsCollection, type PredictionSegment, segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { freshDatabases } from '../../support/service/servers.js';

const mebibyte = 1024 * 1024;
const org = 'org_1';

interface Recorded {
  readonly crmIds: readonly (string | null)[];
  readonly model?: string;
  readonly score?: number;
  readonly fields?: string;
  readonly organisation?: string;
}

describe('the predictions of leads', () => {
  let client: MongoClient;
  let predictions: PredictionStore;
  let commands: string[];
  let replyBytes: number;
  let nowMs = Date.UTC(2026, 1, 10);
  const newCallId = callIdGenerator();

  before(async () => {
    client = new MongoClient((await freshDatabases()).mongoUrl, { monitorCommands: true });
    client.on('commandStarted', ({ commandName }: CommandStartedEvent) => commands.push(commandName));
    client.on('commandSucceeded', ({ reply }) => {
      replyBytes += BSON.calculateObjectSize(reply as Document);
    });
    commands = [];
    await prepareDatabase(client.db());
    predictions = new PredictionStore(client.db());
  });
  beforeEach(async () => {
    await collection().deleteMany({});
    commands = [];
    replyBytes = 0;
  });
  after(() => client.close());

  const collection = () => client.db().collection<PredictionSegment>(callsCollection);

  /** Records a call with one score for all rows; returns its id. */
  async function record({ crmIds, model = 'own', score = 50, fields = '[]', organisation = org }: Recorded) {
    nowMs += 1;
    const callId = newCallId(nowMs, organisation);
    const all = <Value>(value: Value): Value[] => crmIds.map(() => value);
    const columns = { crmIds, scores: all(score), likelihoods: all(5), fields: all(fields) };
    const call = { callId, org: organisation, model, version: '1', at: new Date(nowMs) };
    await collection().insertMany(segmentsOf({ ...call, ...columns }));
    return callId;
  }

  /** Counts the keys and documents that all queries of MongoDB have examined. */
  async function examined(): Promise<{ readonly scanned: number; readonly scannedObjects: number }> {
    const { metrics } = await client.db('admin').command({ serverStatus: 1, repl: 0, locks: 0 });
    return metrics.queryExecutor;
  }

  describe('PredictionStore.latest', () => {
    const latest = (crmIds: readonly string[], organisationId = org) =>
      predictions.latest({ organisationId, modelId: 'own', crmIds, timeoutMs: 5_000 });

    it('returns the latest prediction under any model and under one, whatever its row', async () => {
      const crmIds = Array.from({ length: 250 }, (_, row) => `L-${row}`);
      await record({ crmIds, score: 1 });
      const own = await record({ crmIds: ['L-0', null, ...crmIds.slice(1)], score: 2 });
      const other = await record({ crmIds: ['L-7', 'x', 'L-7'], model: 'other' });
      await record({ crmIds: ['L-8'], model: 'other', organisation: 'org_2' });
      const found = await latest([...crmIds, 'x', 'never scored', '$crm_ids']);
      expect([...found.keys()]).to.have.members([...crmIds, 'x']);
      const id = (call: string, row: number) => `${call}.${String(row).padStart(4, '0')}`;
      expect(found.get('L-0')).to.deep.equal({ latestId: id(own, 0), own: { id: id(own, 0), score: 2 } });
      expect(found.get('L-249')).to.deep.equal({ latestId: id(own, 250), own: { id: id(own, 250), score: 2 } });
      expect(found.get('L-7')).to.deep.equal({ latestId: id(other, 2), own: { id: id(own, 8), score: 2 } });
      expect(found.get('L-8')?.latestId).to.equal(id(own, 9));
      expect(found.get('x')).to.deep.equal({ latestId: id(other, 1), own: undefined });
    });

    it('sends one command for leads that were never scored or have short histories, with 300 models', async () => {
      const crmIds = Array.from({ length: 250 }, (_, row) => `L-${row}`);
      for (let model = 0; model < 300; model += 1) await record({ crmIds: [`only-${model}`], model: `mdl_${model}` });
      commands = [];
      expect((await latest(crmIds)).size).to.equal(0);
      expect(commands).to.deep.equal(['find']);
      await record({ crmIds });
      commands = [];
      expect((await latest([...crmIds, 'only-7'])).size).to.equal(251);
      expect(commands).to.deep.equal(['find']);
    });

    it('finds the same in short and in long histories, which take four commands', async () => {
      const organisation = 'org_long';
      const crmIds = Array.from({ length: 10 }, (_, lead) => `L-${lead}`);
      const random = seededRandom(1);
      const draw = (below: number) => random.integer(0, below - 1);
      const expected = new Map<string, { latestId: string; own: { id: string; score: number } | undefined }>();
      const recordSome = async (calls: number) => {
        for (let call = 0; call < calls; call += 1) {
          const rows = Array.from({ length: 1 + draw(150) }, () => (draw(20) > 0 ? `x-${draw(9)}` : `L-${draw(10)}`));
          const [model, score] = [draw(3) > 0 ? 'own' : 'other', draw(101)];
          const callId = await record({ crmIds: rows, model, score, organisation });
          for (const [row, crmId] of rows.entries()) {
            const id = `${callId}.${String(row).padStart(4, '0')}`;
            const own = model === 'own' ? { id, score } : expected.get(crmId)?.own;
            if (crmId.startsWith('L')) expected.set(crmId, { latestId: id, own });
          }
        }
        commands = [];
        const sorted = (found: ReadonlyMap<string, unknown>) => [...found].sort();
        expect(sorted(await latest(crmIds, organisation))).to.deep.equal(sorted(expected));
        const query = { organisationId: organisation, modelId: 'own', crmIds, timeoutMs: 5_000 };
        const own = [...expected].flatMap(([crmId, scores]) => (scores.own === undefined ? [] : [[crmId, scores.own]]));
        const asked = [...commands];
        expect(sorted(await predictions.latestOwn(query))).to.deep.equal(own.sort());
        commands = asked;
      };
      await recordSome(15);
      expect(commands).to.deep.equal(['find']);
      await recordSome(200);
      // The second one finds out whether another organisation has the same number.
      expect(commands).to.deep.equal(['find', 'find', 'aggregate', 'aggregate']);
      commands = [];
      expect((await latest(['never scored'], organisation)).size).to.equal(0);
      expect(commands).to.deep.equal(['find']);
    });

    it('examines few documents and keys, however long the history and the collection are', async () => {
      for (let call = 0; call < 300; call += 1)
        await record({ crmIds: ['L-1', 'L-2', `other-${call}`], model: call % 100 === 0 ? 'other' : 'own' });
      const before = await examined();
      await latest(['L-1', 'L-2']);
      const after = await examined();
      expect(after.scanned - before.scanned, 'index keys').to.be.within(1, 50);
      expect(after.scannedObjects - before.scannedObjects, 'documents').to.be.at.most(50);
    });
  });

  describe('PredictionStore.latestOwn', () => {
    const crmIds = Array.from({ length: 100 }, (_, lead) => `L-${lead}`);
    /** Scores all leads under other models and under the own one; returns what is read of some, and its cost. */
    async function read(some: readonly string[], { others, calls }: { others: number; calls: number }) {
      const [organisation, modelId] = [
        `org_${others}_${calls}_${some.length}`,
        `mdl_${others}_${calls}_${some.length}`,
      ];
      for (let call = 0; call < calls; call += 1)
        await record({ crmIds: crmIds.toReversed(), model: modelId, score: call, organisation });
      for (let model = 0; model < others; model += 1)
        await record({ crmIds, model: `${modelId}_${model}`, organisation });
      commands = [];
      const before = await examined();
      const found = await predictions.latestOwn({
        organisationId: organisation,
        modelId,
        crmIds: some,
        timeoutMs: 5_000,
      });
      const asked = commands.filter((name) => name !== 'serverStatus');
      const after = await examined();
      const scores = some.map((crmId) => found.get(crmId)?.score);
      expect(found.size).to.equal(scores.filter((score) => score !== undefined).length);
      return {
        asked,
        scores,
        keys: after.scanned - before.scanned,
        documents: after.scannedObjects - before.scannedObjects,
      };
    }

    const lookup = ['find', 'aggregate', 'aggregate'];
    const one = crmIds.slice(7, 8);
    // MongoDB examines a few keys and documents of its own meanwhile.
    const noise = 20;
    for (const { history, some, calls, asked, mostKeys, mostDocuments } of [
      { history: 'no own score', some: crmIds, calls: 0, asked: ['find'], mostKeys: 100, mostDocuments: 0 },
      { history: 'two own scores', some: crmIds, calls: 2, asked: ['find'], mostKeys: 300, mostDocuments: 2 },
      { history: '120 own scores', some: crmIds, calls: 120, asked: lookup, mostKeys: 200, mostDocuments: 102 },
      { history: '120 own scores and alone', some: one, calls: 120, asked: ['find'], mostKeys: 1, mostDocuments: 1 },
    ])
      it(`examines no more keys for 100 other models than for four, of leads with ${history}`, async () => {
        const few = await read(some, { others: 4, calls });
        const many = await read(some, { others: 100, calls });
        for (const { asked: commandsOf, scores, keys, documents } of [few, many]) {
          expect(scores).to.deep.equal(some.map(() => (calls === 0 ? undefined : calls - 1)));
          expect(commandsOf).to.deep.equal(asked);
          expect(keys, 'index keys').to.be.at.most(mostKeys + noise);
          expect(documents, 'documents').to.be.at.most(mostDocuments + noise);
        }
        expect(many.keys).to.be.at.most(few.keys + noise);
      });
  });

  describe('PredictionStore.scoredAmong', () => {
    it('returns the leads that were scored, in short and in long histories', async () => {
      const organisationId = 'org_among';
      const crmIds = Array.from({ length: 600 }, (_, lead) => `L-${lead}`);
      const among = async () => [
        ...(await predictions.scoredAmong({ organisationId, crmIds: [...crmIds, '$crm_ids'] }, 5_000)),
      ];
      expect(await among()).to.deep.equal([]);
      await record({ crmIds: ['other', 'L-7', null, 'L-599'], organisation: organisationId });
      await record({ crmIds: ['L-8'] });
      commands = [];
      expect(await among()).to.have.members(['L-7', 'L-599']);
      expect(commands).to.deep.equal(['find', 'find', 'find']);
      for (let call = 0; call < 101; call += 1)
        await record({ crmIds: Array(1_000).fill('L-9'), organisation: organisationId });
      commands = [];
      expect(await among()).to.have.members(['L-7', 'L-9', 'L-599']);
      // None of the 250 leads of the second read was ever scored.
      const queries = commands.filter((name) => name !== 'getMore');
      expect(queries).to.deep.equal(['find', 'aggregate', 'find', 'find', 'aggregate']);
    });
  });

  describe('PredictionStore.remove', () => {
    it('examines only the segments between the ids that it removes', async () => {
      const ids: string[] = [];
      for (let call = 0; call < 100; call += 1) ids.push(await record({ crmIds: ['L-1'] }));
      const before = await examined();
      await predictions.remove(ids.slice(50, 53));
      const after = await examined();
      expect(after.scannedObjects - before.scannedObjects).to.be.within(3, 10);
      expect(await collection().countDocuments({ scores: { $exists: true } })).to.equal(97);
    });
  });

  describe('PredictionStore.history', () => {
    const history = (before?: string, limit = 200) =>
      predictions.history({
        ...{ organisationId: org, crmId: 'L-1', modelId: undefined, before },
        ...{ limit, timeoutMs: 10_000 },
      });

    it('transfers only the rows of the lead', async () => {
      const crmIds = [...Array.from({ length: 99 }, (_, row) => `L-1${row}`), 'L-1'];
      const fields = JSON.stringify(['x'.repeat(5_000)]);
      for (let call = 0; call < 20; call += 1) await record({ crmIds, fields, score: call });
      replyBytes = 0;
      const { scores, isLast } = await history();
      expect(scores.map(({ score }) => score)).to.deep.equal(Array.from({ length: 20 }, (_, call) => 19 - call));
      expect(scores[0]).to.include({ likelihood: 5, version: '1', model: 'own' });
      expect(isLast).to.equal(true);
      expect(replyBytes).to.be.within(1, 20_000);
    });

    it('takes two commands for a page of 50 calls, one for a lead of few, and examines only its segments', async () => {
      for (let call = 0; call < 150; call += 1)
        await record({ crmIds: ['L-1'], model: call % 2 === 0 ? 'own' : 'other', score: call % 100 });
      const all = (await history()).scores.map(({ id }) => id);
      expect(all).to.have.length(150);
      expect(all).to.deep.equal([...all].sort().reverse());
      commands = [];
      const before = await examined();
      const page = await history(all[49], 50);
      expect((await examined()).scannedObjects - before.scannedObjects, 'documents').to.be.within(51, 70);
      expect(page.scores.map(({ id }) => id)).to.deep.equal(all.slice(50, 100));
      expect(page.isLast).to.equal(false);
      expect(commands.filter((name) => name === 'find')).to.have.length(2);
      commands = [];
      const last = await history(all[146], 50);
      expect(last.scores.map(({ id }) => id)).to.deep.equal(all.slice(147));
      expect(last.isLast).to.equal(true);
      expect(commands).to.deep.equal(['find']);
    });

    it('examines few segments of a lead that fills them', async () => {
      const calls: string[] = [];
      for (let call = 0; call < 5; call += 1) calls.push(await record({ crmIds: Array(1_000).fill('L-1') }));
      const before = await examined();
      const { scores } = await history(`${calls[4]}.0850`, 100);
      // MongoDB reads a few documents of its own meanwhile.
      expect((await examined()).scannedObjects - before.scannedObjects, 'documents of 50').to.be.within(2, 15);
      const rows = Array.from({ length: 100 }, (_, row) => `${calls[4]}.0${849 - row}`);
      expect(scores.map(({ id }) => id)).to.deep.equal(rows);
    });

    it('ends a page after 64 MiB of segments, and continues from there', async () => {
      const fields = JSON.stringify(['x'.repeat(15 * mebibyte)]);
      for (let call = 0; call < 7; call += 1) await record({ crmIds: ['L-1'], fields, score: call });
      const first = await history();
      expect(first.isLast).to.equal(false);
      expect(first.scores.map(({ score }) => score)).to.deep.equal([6, 5, 4, 3, 2]);
      const { scores, isLast } = await history(first.scores.at(-1)?.id);
      expect(scores.map(({ score }) => score)).to.deep.equal([1, 0]);
      expect(isLast).to.equal(true);
    });
  });
});
