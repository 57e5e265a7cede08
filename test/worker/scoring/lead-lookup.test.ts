import { expect } from 'chai';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import type { CachedLeads } from '../../../shared/latest-scores/latest-scores.js';
import { compileKnownFields, type KnownFields } from '../../../shared/messages/field-slots.js';
import type { ChunkPayload } from '../../../shared/messages/score-job.js';
import type { LeadQuery, LeadScores, OwnScore, StoredRecord } from '../../../shared/store/calls/lead-lookup.js';
import { findKnownLeads, requestLatestScores } from '../../../worker/scoring/lead-lookup.js';

const now = Date.UTC(2026, 1, 10);
const part = { explain: false, firstRow: 0, rows: [] };
const chunk: ChunkPayload = {
  ...{ chunk: 'chunk', partition: 0, gateway: 'gw', organisation: 'org_zzzzzz', model: 'own', version: '2' },
  parts: [
    { ...part, now: now + 5, crmIds: ['L-1', null, 'L-2', 'L-1'] },
    { ...part, now, crmIds: ['L-3'] },
  ],
};

/** The fields of a version: one named after it, and `size`. */
const fieldsOf = async (modelId: string, version: string): Promise<KnownFields> => {
  const names = [`of ${modelId} ${version}`, 'size'];
  const features = names.map((field) => ({ field, label: field, type: 'number', columns: [] }) as const);
  return compileKnownFields({ features });
};

interface World {
  /** L-1, L-2 and L-3 in Redis; Redis does not answer when left out. */
  readonly cached?: CachedLeads['leads'];
  /** The leads in MongoDB, by crm_id. */
  readonly latest?: Readonly<Record<string, LeadScores>>;
  /** The scores of leads in MongoDB under the chunk's model, by crm_id. */
  readonly own?: Readonly<Record<string, OwnScore>>;
  readonly stored?: Readonly<Record<string, StoredRecord>>;
  readonly keptFromId?: string;
  /** The gaps of the records of each lead. */
  readonly gaps?: Readonly<Record<string, number>>;
}

/** Looks the leads of the chunk up. */
async function lookedUp(world: World) {
  const { cached, latest = {}, own = {}, stored = {}, keptFromId = '', gaps = { 'L-1': 1, 'L-2': 1 } } = world;
  const asked: string[] = [];
  const read: string[] = [];
  const deps = {
    predictions: {
      latest: async ({ modelId, crmIds }: LeadQuery) => {
        if (crmIds.length > 0) asked.push(`${modelId}: ${crmIds.join(' ')}`);
        return new Map(Object.entries(latest));
      },
      latestOwn: async ({ modelId, crmIds }: LeadQuery) => {
        if (crmIds.length > 0) asked.push(`only ${modelId}: ${crmIds.join(' ')}`);
        return new Map(Object.entries(own));
      },
      storedRecords: async (ids: readonly string[]) => {
        read.push(...ids);
        return new Map(ids.flatMap((id) => (stored[id] === undefined ? [] : [[id, stored[id]] as const])));
      },
    },
    fieldsOf,
    timeoutMs: 1_000,
    keptFromId,
  };
  const readCached = async () => {
    if (cached === undefined) throw new Error('Redis is away');
    return { epoch: 'run token', leads: cached };
  };
  const requested = requestLatestScores(chunk, { read: readCached });
  const found = await findKnownLeads(chunk, requested, new Map(Object.entries(gaps)), deps);
  return { ...found, asked, read };
}

const scored = (id: string, score: number): LeadScores => ({ latestId: id, own: { id, score } });
const elsewhere = (latestId: string): LeadScores => ({ latestId, own: undefined });

describe('the lookup of the leads of a chunk', () => {
  it('asks MongoDB only for the leads that Redis does not have, and for the own scores of others', async () => {
    const { byCrmId, epoch, asked } = await lookedUp({
      cached: [scored('01-3.0000', 70), elsewhere('01-4.0000'), undefined],
      latest: { 'L-3': { latestId: '01-5.0000', own: undefined } },
      own: { 'L-2': { id: '01-2.0000', score: 20 } },
    });
    expect(asked).to.deep.equal(['own: L-3', 'only own: L-2']);
    expect(epoch).to.equal('run token');
    expect(byCrmId.get('L-1')).to.deep.include({ previousScore: 70, latestId: '01-3.0000' });
    expect(byCrmId.get('L-2')).to.deep.include({ previousScore: 20, latestId: '01-4.0000' });
    expect(byCrmId.get('L-3')).to.deep.include({ previousScore: null, latestId: '01-5.0000' });
    const { byCrmId: never } = await lookedUp({ cached: [undefined, elsewhere('01-4.0000')] });
    expect([...never.keys()]).to.deep.equal(['L-2']);
    expect(never.get('L-2')).to.deep.include({ previousScore: null, latestId: '01-4.0000' });
  });

  it('takes an own prediction that is later than all that Redis knows for the latest', async () => {
    const { byCrmId } = await lookedUp({
      cached: [elsewhere('01-2.0000'), scored('01-4.0000', 1), scored('01-4.0001', 1)],
      own: { 'L-1': { id: '01-3.0000', score: 50 } },
      stored: { '01-3.0000': { model: 'own', version: '2', fields: '["x",5]' } },
    });
    expect(byCrmId.get('L-1')).to.deep.include({ previousScore: 50, latestId: '01-3.0000' });
    expect(byCrmId.get('L-1')?.stored?.read()).to.deep.equal({ slots: ['x', 5] });
  });

  it('asks MongoDB when Redis does not answer, and returns no epoch then', async () => {
    const { byCrmId, epoch, asked } = await lookedUp({ latest: { 'L-1': elsewhere('01-1.0000') } });
    expect(asked).to.deep.equal(['own: L-1 L-2 L-3']);
    expect([...byCrmId.keys()]).to.deep.equal(['L-1']);
    expect(byCrmId.get('L-1')).to.deep.include({ previousScore: null, latestId: '01-1.0000' });
    expect(epoch).to.equal('');
  });

  it('returns no epoch when MongoDB has a prediction that is later than the earliest call of the chunk', async () => {
    const at = (ms: number) => `${callIdGenerator()(ms, chunk.organisation)}.0000`;
    const epochAfter = async (ms: number) =>
      (await lookedUp({ cached: [], latest: { 'L-1': scored(at(ms), 70) } })).epoch;
    expect(await epochAfter(now - 1)).to.equal('run token');
    expect(await epochAfter(now)).to.equal('');
    const cached = [elsewhere(at(now - 2)), scored(at(now - 2), 1), scored(at(now - 2), 1)];
    const epochAfterOwn = async (ms: number) =>
      (await lookedUp({ cached, own: { 'L-1': { id: at(ms), score: 70 } } })).epoch;
    expect(await epochAfterOwn(now - 1)).to.equal('run token');
    expect(await epochAfterOwn(now)).to.equal('');
  });

  it('returns the fields of the latest prediction, by slot for the same version and by name for another', async () => {
    const { byCrmId } = await lookedUp({
      cached: [elsewhere('01-2.0000'), scored('01-3.0000', 50), undefined],
      own: { 'L-1': { id: '01-1.0000', score: 50 } },
      stored: {
        '01-2.0000': { model: 'other', version: '2', fields: '["x",5]' },
        '01-3.0000': { model: 'own', version: '1', fields: '["y",6]' },
      },
    });
    expect(byCrmId.get('L-1')?.stored?.read()).to.deep.equal({ names: ['of other 2', 'size'], cells: ['x', 5] });
    expect(byCrmId.get('L-2')?.stored?.read()).to.deep.equal({ names: ['of own 1', 'size'], cells: ['y', 6] });
    const own = await lookedUp({
      cached: [scored('01-1.0000', 50)],
      stored: { '01-1.0000': { model: 'own', version: '2', fields: '["z",7]' } },
    });
    expect(own.byCrmId.get('L-1')?.stored?.read()).to.deep.equal({ slots: ['z', 7] });
  });

  it('reads the fields of leads with a gap that these may fill, and of no others', async () => {
    const [first, second, third] = ['01-1.0000', '01-2.0000', '01-3.0000'] as const;
    const readWith = async (gaps: Readonly<Record<string, number>>, cached: readonly (number | undefined)[]) => {
      const ids = [first, second, third];
      const leads = cached.map((of, index) => ({ ...scored(ids[index] ?? '', 50), gaps: of }));
      return (await lookedUp({ cached: leads, gaps })).read;
    };
    expect(await readWith({ 'L-1': 0b110, 'L-2': 0b010, 'L-3': 0b001 }, [0b010, 0b110, undefined])).to.deep.equal([
      first,
      third,
    ]);
    expect(await readWith({ 'L-1': 0b1, 'L-2': 0b1 }, [0b0, 0b1, 0b0]), 'L-3 has no gap').to.deep.equal([first]);
    expect(await readWith({ 'L-1': 2 ** 25 }, [2 ** 25 - 1, 0, 0]), 'a slot from 25 on').to.deep.equal([first]);
  });

  it('reads the fields of leads whose latest prediction MongoDB has told', async () => {
    const { read } = await lookedUp({
      cached: [{ ...elsewhere('01-1.0000'), gaps: 0b1 }, undefined, undefined],
      latest: { 'L-2': scored('01-3.0000', 50) },
      own: { 'L-1': { id: '01-2.0000', score: 50 } },
    });
    expect(read).to.deep.equal(['01-2.0000', '01-3.0000']);
  });

  it('ignores predictions past retention', async () => {
    const { byCrmId } = await lookedUp({
      cached: [{ latestId: '01-6.0000', own: { id: '01-2.0000', score: 70 } }, scored('01-1.0000', 20), undefined],
      keptFromId: '01-5',
    });
    expect(byCrmId.get('L-1')).to.deep.include({ previousScore: null, latestId: '01-6.0000' });
    expect(byCrmId.has('L-2')).to.equal(false);
  });
});
