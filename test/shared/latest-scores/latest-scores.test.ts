import { expect } from 'chai';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LatestRig, type Rows } from './latest-rig.js';

const byModel = ['mdl_A', 'mdl_B', 'mdl_C', 'mdl_D'];

describe('LatestScores', () => {
  let rig: LatestRig;
  let newCallId: () => string;
  const callIds = (count: number) => Array.from({ length: count }, () => newCallId());
  const rowsOf = (crmIds: readonly string[], score: number): Rows => crmIds.map((crmId) => [crmId, score] as const);
  const scoresOf = async (crmIds: readonly string[], under?: string) =>
    (await rig.read(crmIds, under)).map((known) => known?.own?.score);
  /** Fields of the hash, without the epoch and the numbers of models. */
  const leads = async () => (await rig.redis.hkeys(rig.key)).filter((name) => name !== '' && !name.startsWith('\0'));

  beforeEach(async () => {
    rig = new LatestRig((await freshDatabases()).redisUrl);
    let atMs = Date.UTC(2026, 1, 10);
    const generated = callIdGenerator();
    newCallId = () => {
      atMs += 1;
      return generated(atMs, rig.organisationId);
    };
    await rig.warm();
  });
  afterEach(() => rig.close());

  it('has the scores of a call once it is settled, from the last row of each lead', async () => {
    const [call = ''] = callIds(1);
    await rig.record(call, [
      ['L-1', 10],
      [null, 20],
      ['L-2', 30],
      ['L-1', 40],
    ]);
    expect(await rig.read(['L-1', 'L-2'])).to.deep.equal([undefined, undefined]);
    await rig.settle(call);
    expect(await rig.read(['L-1', 'L-2', 'L-3'])).to.deep.equal([
      { latestId: `${call}.0003`, own: { id: `${call}.0003`, score: 40 } },
      { latestId: `${call}.0002`, own: { id: `${call}.0002`, score: 30 } },
      undefined,
    ]);
  });

  it('has nothing of a call that was looked up and not settled', async () => {
    const [call = ''] = callIds(1);
    await rig.lookUp(call, rowsOf(['L-1', 'L-2'], 10));
    expect(await leads()).to.deep.equal([]);
  });

  it('has the latest prediction under any model, and the score of each of the last three models', async () => {
    const ids = callIds(4);
    for (const [index, under] of byModel.entries()) await rig.score(ids[index] ?? '', [['L-1', 10 * index]], under);
    const latestId = `${ids[3]}.0000`;
    const read = async (under: string) => (await rig.read(['L-1'], under))[0];
    expect(await read('mdl_A'), 'dropped').to.deep.equal({ latestId, own: undefined });
    for (const index of [1, 2, 3])
      expect(await read(byModel[index] ?? '')).to.deep.equal({
        latestId,
        own: { id: `${ids[index]}.0000`, score: 10 * index },
      });
    expect(await read('mdl_none')).to.deep.equal({ latestId, own: undefined });
  });

  it('has at most 250 bytes for each lead under three models', async () => {
    const crmIds = Array.from({ length: 1_000 }, (_, row) => `003Qy00000${String(row).padStart(6, '0')}AB`);
    const rows = crmIds.map((crmId) => [crmId, 100, 1] as const);
    for (const under of byModel.slice(0, 3)) await rig.score(newCallId(), rows, under);
    expect(await scoresOf(crmIds.slice(0, 2), 'mdl_A')).to.deep.equal([100, 100]);
    const bytes = Number(await rig.redis.memory('USAGE', rig.key, 'SAMPLES', 0));
    expect(bytes / crmIds.length).to.be.within(1, 250);
  });

  const gapsOf = async (version: string, under?: string) => {
    rig.version = version;
    return (await rig.readWithGaps(['L-1', 'L-2', 'L-3', 'L-4'], under)).map((known) => known?.gaps);
  };

  it('has the gaps of the latest prediction, for its own version alone', async () => {
    rig.version = '2';
    await rig.score(newCallId(), [
      ['L-1', 10, 1],
      ['L-2', 20, 2 ** 25 - 1],
      ['L-3', 30],
      ['L-1', 40, 6],
    ]);
    expect(await gapsOf('2')).to.deep.equal([6, 2 ** 25 - 1, 0, undefined]);
    expect(await gapsOf('1')).to.deep.equal([0, 0, 0, undefined]);
    expect(await gapsOf('2', 'mdl_B')).to.deep.equal([0, 0, 0, undefined]);
    rig.version = '1';
    await rig.score(newCallId(), [['L-2', 20, 4]], 'mdl_B');
    await rig.score(newCallId(), [['L-1', 20]]);
    expect(await gapsOf('2')).to.deep.equal([0, 0, 0, undefined]);
    expect(await gapsOf('1', 'mdl_B')).to.deep.equal([0, 4, 0, undefined]);
  });

  it('keeps the gaps of the latest prediction when an earlier one of another model is settled', async () => {
    const [earlier = ''] = callIds(1);
    await rig.record(earlier, [['L-1', 10, 1]], 'mdl_B');
    await rig.score(newCallId(), [['L-1', 20, 2]]);
    await rig.settle(earlier);
    expect(await gapsOf('1')).to.deep.equal([2, undefined, undefined, undefined]);
    expect(await gapsOf('1', 'mdl_B')).to.deep.equal([0, undefined, undefined, undefined]);
    expect(await scoresOf(['L-1'], 'mdl_B')).to.deep.equal([10]);
  });

  it('has no gaps of a lead when a process that knows none has put another item first', async () => {
    await rig.score(newCallId(), [['L-1', 10, 1]]);
    const [entry = '', next = ''] = [await rig.redis.hget(rig.key, 'L-1'), newCallId()].map(String);
    await rig.redis.hset(rig.key, 'L-1', `${next}0000020001${entry.slice(36)}`);
    expect(await rig.readWithGaps(['L-1'])).to.deep.equal([
      { latestId: `${next}.0000`, own: { id: `${next}.0000`, score: 20 }, gaps: 0 },
    ]);
    await rig.score(newCallId(), [['L-1', 30, 2]]);
    expect(await gapsOf('1')).to.deep.equal([2, undefined, undefined, undefined]);
  });

  it('has the score of the later call, in whichever order calls are settled', async () => {
    const [earlier = '', later = ''] = callIds(2);
    await rig.record(earlier, [['L-1', 10]]);
    await rig.record(later, [['L-1', 90]]);
    await rig.settle(later);
    await rig.settle(earlier);
    expect(await rig.read(['L-1'])).to.deep.equal([
      { latestId: `${later}.0000`, own: { id: `${later}.0000`, score: 90 } },
    ]);
  });

  it('has the latest scores of calls settled in one batch, but none of a call under another epoch', async () => {
    const [before = '', first = '', second = '', third = '', other = ''] = callIds(5);
    await rig.record(before, [['L-3', 5]]);
    await rig.restart();
    await rig.record(first, [
      ['L-1', 10],
      [null, 99],
    ]);
    await rig.record(second, [
      [null, 98],
      ['L-2', 30],
      ['L-1', 20],
    ]);
    await rig.record(third, [['L-1', 40]]);
    await rig.record(other, [['L-2', 60]], 'mdl_B');
    await rig.settleTogether(third, before, first, other, second);
    expect(await scoresOf(['L-1', 'L-2', 'L-3'])).to.deep.equal([40, 30, undefined]);
    expect(await rig.read(['L-2'], 'mdl_B')).to.deep.equal([
      { latestId: `${other}.0000`, own: { id: `${other}.0000`, score: 60 } },
    ]);
  });

  it('has no scores of a call that lost its lease, beside calls settled in the same batch', async () => {
    const [first = '', lost = '', last = ''] = callIds(3);
    await rig.record(first, [['L-1', 10]]);
    await rig.record(lost, [
      ['L-1', 20],
      ['L-2', 30],
    ]);
    await rig.record(last, [['L-3', 40]]);
    await rig.quota.quota.release(rig.counter, lost);
    const ends = await rig.settleTogether(first, lost, last);
    expect(ends.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(await scoresOf(['L-1', 'L-2', 'L-3'])).to.deep.equal([10, undefined, 40]);
  });

  it('has all leads of large calls settled in one batch', async () => {
    const [earlier = '', later = ''] = callIds(2);
    const crmIds = Array.from({ length: 1_999 }, (_, row) => `L-${row}`);
    await rig.record(earlier, rowsOf(crmIds.slice(0, 1_000), 10));
    await rig.record(later, rowsOf(crmIds.slice(999), 90));
    await rig.settleTogether(later, earlier);
    expect(await scoresOf(crmIds)).to.deep.equal(crmIds.map((_, row) => (row < 999 ? 10 : 90)));
  });

  it('has all leads of a call of 2000, also when each takes the place of an earlier one', async () => {
    const names = (mark: string) => Array.from({ length: 2_000 }, (_, row) => `${mark}-${row}`);
    const gaps = (mark: string) => names(mark).map((crmId) => [crmId, 50, 1] as const);
    rig.maxFields = 2_005; // 2000 leads, the epoch, and two fields each for one model and one version
    for (const mark of ['A', 'B']) await rig.score(newCallId(), gaps(mark));
    const fields = await rig.redis.hlen(rig.key);
    expect(fields).to.equal(rig.maxFields);
    expect(await scoresOf(names('B'))).to.eql(names('B').map(() => 50));
  });

  it('knows leads by a crm_id with any characters', async () => {
    const crmIds = ['a b', '?', '-', 'line\nfeed', 'quote"', '\\', '🙂', '{x}', '0', ' ', '\u0001mdl_A', '\ufffd'];
    await rig.score(
      newCallId(),
      crmIds.map((crmId, row) => [crmId, row] as const),
    );
    expect(await scoresOf(crmIds)).to.deep.equal(crmIds.map((_, row) => row));
  });

  it('drops all entries when Redis has restarted, because the newest may be lost', async () => {
    await rig.score(newCallId(), [['L-1', 70]]);
    await rig.restart();
    expect(await rig.read(['L-1'])).to.deep.equal([undefined]);
    await rig.score(newCallId(), [['L-1', 80]]);
    expect(await scoresOf(['L-1'])).to.deep.equal([80]);
  });

  it('stores nothing of a call from before all entries were dropped, nor of an earlier one after it', async () => {
    const [earlier = '', before = ''] = callIds(2);
    await rig.record(before, [['L-1', 20]]);
    await rig.forget();
    await rig.lookUp(earlier, [['L-2', 5]]);
    await rig.settle(before);
    expect(await leads()).to.deep.equal([]);
    await rig.record(earlier, [['L-1', 10]]);
    await rig.settle(earlier);
    expect(await rig.read(['L-1']), 'the other call is the latest').to.deep.equal([undefined]);
    await rig.score(newCallId(), [['L-1', 30]]);
    expect(await scoresOf(['L-1'])).to.deep.equal([30]);
  });

  it('stores nothing of a call when MongoDB has a later prediction that Redis lacks', async () => {
    const [overtaken = '', later = ''] = callIds(2);
    await rig.score(later, [['L-1', 90]]);
    await rig.forget();
    await rig.warm();
    await rig.score(overtaken, [['L-1', 10]]);
    expect(await rig.read(['L-1'])).to.deep.equal([undefined]);
  });

  it('drops the entry of a lead when a later call under another epoch cannot be stored', async () => {
    const [before = '', after = ''] = callIds(2);
    const [later = ''] = callIds(1);
    await rig.lookUp(later, [['L-1', 30]]);
    await rig.forget();
    await rig.score(before, [['L-1', 10]], 'mdl_B');
    await rig.record(later, [['L-1', 30]]);
    await rig.settle(later);
    expect(await rig.read(['L-1'], 'mdl_B')).to.deep.equal([undefined]);
    await rig.score(after, [['L-1', 20]], 'mdl_B');
    expect(await rig.read(['L-1'], 'mdl_B'), 'an earlier call').to.deep.equal([undefined]);
  });

  it('drops the entry of a lead whose own score is older than a call under another epoch', async () => {
    const [own = '', before = '', other = ''] = callIds(3);
    await rig.lookUp(before, [['L-1', 30]]);
    await rig.forget();
    await rig.warm();
    await rig.score(own, [['L-1', 10]]);
    await rig.score(other, [['L-1', 20]], 'mdl_B');
    expect(await scoresOf(['L-1'])).to.deep.equal([10]);
    await rig.record(before, [['L-1', 30]]);
    await rig.settle(before);
    expect(await rig.read(['L-1'])).to.deep.equal([undefined]);
  });

  it('has no scores of an erased lead from calls in flight at the erasure, but those of later calls', async () => {
    const [before = ''] = callIds(1);
    await rig.record(before, [
      ['L-1', 70],
      ['L-2', 30],
    ]);
    await rig.score(newCallId(), [['L-1', 60]]);
    await rig.erase('L-1');
    await rig.settle(before);
    expect(await rig.read(['L-1', 'L-2'])).to.deep.equal([undefined, undefined]);
    await rig.score(newCallId(), [['L-1', 5]]);
    expect(await scoresOf(['L-1'])).to.deep.equal([5]);
  });

  it('evicts the oldest of some leads when it is full, and still updates those it has', async () => {
    rig.maxFields = 503; // 500 leads, the epoch, and the number of one model
    const crmIds = Array.from({ length: 500 }, (_, row) => `old-${row}`);
    await rig.score(newCallId(), rowsOf(crmIds.slice(0, 250), 1));
    await rig.score(newCallId(), rowsOf(crmIds.slice(250), 2));
    const added = Array.from({ length: 50 }, (_, row) => `new-${row}`);
    await rig.score(newCallId(), rowsOf([...added, 'old-499'], 3));
    expect(await leads()).to.have.length(500);
    expect(await scoresOf([...added, 'old-499'])).to.deep.equal(Array.from({ length: 51 }, () => 3));
    const evicted = (await scoresOf(crmIds)).flatMap((score, row) => (score === undefined ? row : []));
    expect(evicted).to.have.length(50);
    // By chance some may be newer ones: of 150 random leads the 50 oldest go.
    expect(evicted.filter((row) => row < 250).length).to.be.above(40);
  });

  it('stores no earlier score of a lead that was evicted', async () => {
    const [earlier = '', later = ''] = callIds(2);
    await rig.record(earlier, [['L-1', 10]]);
    await rig.score(later, [['L-1', 90]]);
    rig.maxFields = 1;
    await rig.score(newCallId(), [['L-2', 50]]);
    expect(await leads()).to.deep.equal(['L-2']);
    await rig.settle(earlier);
    expect(await rig.read(['L-1'])).to.deep.equal([undefined]);
  });

  it('keeps the leads of organisations apart', async () => {
    await rig.score(newCallId(), [['L-1', 70]]);
    const other = { organisationId: 'org_other', modelId: 'mdl_A', version: '1' };
    const { leads: others } = await rig.latest.read({ ...other, crmIds: ['L-1'] });
    expect(others).to.deep.equal([]);
  });

  it('expires a week after the last settled call', async () => {
    const weekMs = 7 * 24 * 60 * 60 * 1_000;
    expect(await rig.redis.pttl(rig.key)).to.be.within(weekMs - 10_000, weekMs);
    await rig.redis.pexpire(rig.key, weekMs / 2);
    const call = newCallId();
    await rig.record(call, [['L-1', 70]]);
    await rig.settleTogether(call);
    expect(await rig.redis.pttl(rig.key)).to.be.within(weekMs - 10_000, weekMs);
  });
});
