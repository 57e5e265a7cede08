import { expect } from 'chai';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { callKey, endedCallsKey, leasesKey, usageKey } from '../../../shared/redis/keys.js';
import { integerReply, integersReply, luaCommand } from '../../../shared/redis/lua-command.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LatestRig } from './latest-rig.js';

const nowMs = Date.UTC(2026, 1, 10);

describe('LatestScores', () => {
  let rig: LatestRig;
  let newCallId: (atMs: number) => string;
  const callIds = (count: number) => Array.from({ length: count }, () => newCallId(nowMs));

  beforeEach(async () => {
    rig = new LatestRig((await freshDatabases()).redisUrl);
    newCallId = callIdGenerator();
  });
  afterEach(() => rig.close());

  /** Settles a call by the script, with another maximum of leads. The hash also counts its epoch as one. */
  async function settleWithRoom(
    call: string,
    epoch: string,
    how: {
      readonly maxLeads: number;
      readonly crmIds: readonly string[];
      readonly scores: readonly number[];
    },
  ): Promise<void> {
    const settle = luaCommand(rig.redis, { file: 'shared/quota/lua/settle.lua', reply: integersReply });
    const { organisationId, counter } = rig;
    const base = epoch.slice(0, epoch.lastIndexOf(' '));
    const lists = [[1, how.scores.length], how.crmIds, how.scores].map((list) => JSON.stringify(list));
    await settle({
      keys: [
        ...[usageKey(counter), leasesKey(counter), endedCallsKey(counter)],
        ...[callKey(organisationId, call), rig.key],
      ],
      args: [1, 60_000, 60_000, how.maxLeads, call, base, ...lists],
    });
  }
  it('knows no lead at first, and those of a look-up after it', async () => {
    const [call = ''] = callIds(1);
    await rig.record(call, [['L-1', 70]]);
    expect((await rig.read('L-1', 'L-2')).scores).to.deep.equal([undefined, undefined]);
    await rig.warm('L-1', 'L-2');
    expect((await rig.read('L-1', 'L-2', 'L-3')).scores).to.deep.equal([
      { id: `${call}.0000`, score: 70 },
      null,
      undefined,
    ]);
  });

  it('has the scores of a call once it is settled, from the last row of each lead', async () => {
    const [call = ''] = callIds(1);
    await rig.warm('L-1', 'L-2');
    await rig.record(call, [
      ['L-1', 10],
      [null, 20],
      ['L-2', 30],
      ['L-1', 40],
    ]);
    expect((await rig.read('L-1', 'L-2')).scores).to.deep.equal([null, null]);
    await rig.settle(call);
    expect((await rig.read('L-1', 'L-2')).scores).to.deep.equal([
      { id: `${call}.0003`, score: 40 },
      { id: `${call}.0002`, score: 30 },
    ]);
  });

  it('has the score of the later call, in whichever order calls are settled', async () => {
    const [earlier = '', later = ''] = callIds(2);
    await rig.warm('L-1');
    await rig.record(earlier, [['L-1', 10]]);
    await rig.record(later, [['L-1', 90]]);
    await rig.settle(later);
    await rig.settle(earlier);
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: `${later}.0000`, score: 90 }]);
  });

  it('has the latest scores of calls settled in one batch, but none of a call under another epoch', async () => {
    const [before = '', first = '', second = '', third = ''] = callIds(4);
    await rig.record(before, [['L-3', 5]]);
    await rig.restart();
    const { epoch } = await rig.read('L-3');
    await rig.fill(epoch, ['L-1', 'L-2', 'L-3'], []);
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
    await Promise.all([third, before, first, second].map((call) => rig.settle(call)));
    expect((await rig.read('L-1', 'L-2', 'L-3')).scores).to.deep.equal([
      { id: `${third}.0000`, score: 40 },
      { id: `${second}.0001`, score: 30 },
      undefined,
    ]);
  });

  it('has no scores of a call that lost its lease, beside calls settled in the same batch', async () => {
    const [first = '', lost = '', last = ''] = callIds(3);
    await rig.warm('L-1', 'L-2', 'L-3');
    await rig.record(first, [['L-1', 10]]);
    await rig.record(lost, [
      ['L-1', 20],
      ['L-2', 30],
    ]);
    await rig.record(last, [['L-3', 40]]);
    await rig.quota.quota.release(rig.counter, lost);
    const ends = await Promise.allSettled([first, lost, last].map((call) => rig.settle(call)));
    expect(ends.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect((await rig.read('L-1', 'L-2', 'L-3')).scores).to.deep.equal([
      { id: `${first}.0000`, score: 10 },
      null,
      { id: `${last}.0000`, score: 40 },
    ]);
  });

  it('has all leads of large calls settled in one batch', async () => {
    const [earlier = '', later = ''] = callIds(2);
    const leads = Array.from({ length: 1_999 }, (_, row) => `L-${row}`);
    await rig.warm(...leads);
    const rowsOf = (crmIds: readonly string[], score: number) => crmIds.map((crmId) => [crmId, score] as const);
    await rig.record(earlier, rowsOf(leads.slice(0, 1_000), 10));
    await rig.record(later, rowsOf(leads.slice(999), 90));
    await Promise.all([later, earlier].map((call) => rig.settle(call)));
    const { scores } = await rig.read(...leads);
    expect(scores.map((known) => known?.score)).to.deep.equal(leads.map((_, row) => (row < 999 ? 10 : 90)));
  });

  it('has all leads of a call with 1,000 records', async () => {
    const [call = ''] = callIds(1);
    const leads = Array.from({ length: 1_000 }, (_, row) => `L-${row}`);
    await rig.warm(...leads);
    await rig.score(
      call,
      leads.map((crmId, row) => [crmId, row % 101]),
    );
    const { scores } = await rig.read(...leads);
    expect(scores.map((known) => known?.score)).to.deep.equal(leads.map((_, row) => row % 101));
  });

  it('knows leads by a crm_id with any characters', async () => {
    const [call = ''] = callIds(1);
    const leads = ['a b', '?', '-', 'line\nfeed', 'quote"', '\\', '🙂', '{x}', '0', ' '];
    await rig.warm(...leads);
    await rig.score(
      call,
      leads.map((crmId, row) => [crmId, row]),
    );
    const { scores } = await rig.read(...leads);
    expect(scores.map((known) => known?.score)).to.deep.equal(leads.map((_, row) => row));
  });

  it('drops all entries when Redis has restarted, because the newest may be lost', async () => {
    const [call = ''] = callIds(1);
    await rig.warm('L-1');
    await rig.score(call, [['L-1', 70]]);
    await rig.restart();
    expect((await rig.read('L-1')).scores).to.deep.equal([undefined]);
    await rig.warm('L-1');
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: `${call}.0000`, score: 70 }]);
  });

  it('does not store a look-up that began before all entries were dropped', async () => {
    const [first = '', second = ''] = callIds(2);
    await rig.score(first, [['L-1', 10]]);
    const { epoch } = await rig.read('L-1');
    const lookedUp = rig.lookUp(['L-1']);
    await rig.score(second, [['L-1', 20]]);
    await rig.forget();
    await rig.read('L-1');
    await rig.fill(epoch, ['L-1'], lookedUp);
    expect((await rig.read('L-1')).scores).to.deep.equal([undefined]);
  });

  it('keeps the score of a call when an older look-up is stored late', async () => {
    const [first = '', second = ''] = callIds(2);
    await rig.score(first, [['L-1', 10]]);
    const { epoch } = await rig.read('L-1');
    const lookedUp = rig.lookUp(['L-1']);
    await rig.score(second, [['L-1', 20]]);
    await rig.fill(epoch, ['L-1'], lookedUp);
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: `${second}.0000`, score: 20 }]);
  });

  it('does not store a look-up from before a call that was settled under another epoch', async () => {
    const [call = ''] = callIds(1);
    await rig.begin(call);
    await rig.forget();
    const { epoch } = await rig.read('L-1');
    const lookedUp = rig.lookUp(['L-1']);
    await rig.record(call, [['L-1', 70]]);
    await rig.settle(call);
    await rig.fill(epoch, ['L-1'], lookedUp);
    expect((await rig.read('L-1')).scores).to.deep.equal([undefined]);
    await rig.warm('L-1');
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: `${call}.0000`, score: 70 }]);
  });

  it('does not store a look-up from before a call that found the hash full', async () => {
    const [call = ''] = callIds(1);
    await rig.warm('L-1');
    await rig.record(call, [['L-2', 70]]);
    const { epoch } = await rig.read('L-2');
    await settleWithRoom(call, epoch, { maxLeads: 2, crmIds: ['L-2'], scores: [70] });
    await rig.fill(epoch, ['L-2'], []);
    expect((await rig.read('L-1', 'L-2')).scores).to.deep.equal([null, undefined]);
  });

  it('stores calls again after a call under another epoch', async () => {
    const [before = '', after = ''] = callIds(2);
    await rig.begin(before);
    await rig.forget();
    await rig.warm('L-1');
    await rig.begin(after);
    await rig.score(before, [['L-1', 10]]);
    await rig.score(after, [['L-1', 20]]);
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: `${after}.0000`, score: 20 }]);
  });

  it('has no scores of an erased lead from calls in flight at the erasure, but those of later calls', async () => {
    const [before = ''] = callIds(1);
    await rig.record(before, [
      ['L-1', 70],
      ['L-2', 30],
    ]);
    await rig.erase('L-1', nowMs);
    await rig.warm('L-1', 'L-2');
    await rig.settle(before);
    expect((await rig.read('L-1', 'L-2')).scores).to.deep.equal([undefined, { id: `${before}.0001`, score: 30 }]);
    const after = newCallId(nowMs + 1);
    await rig.score(after, [['L-1', 5]]);
    expect((await rig.read('L-1')).scores).to.deep.equal([{ id: `${after}.0000`, score: 5 }]);
  });

  it('fills no more leads than the maximum, and still updates those it has', async () => {
    const [call = ''] = callIds(1);
    const { epoch } = await rig.read('L-1');
    const fill = luaCommand(rig.redis, {
      file: 'shared/latest-scores/fill-scores.lua',
      reply: integerReply,
    });
    const filled = (crmId: string) => fill({ keys: [rig.key], args: [epoch, 2, crmId, '-'] });
    expect([await filled('L-1'), await filled('L-2')]).to.deep.equal([1, 0]);
    await rig.score(call, [['L-1', 70]]);
    const { scores } = await rig.read('L-1', 'L-2');
    expect(scores).to.deep.equal([{ id: `${call}.0000`, score: 70 }, undefined]);
  });

  it('stores the leads of a call up to the maximum', async () => {
    const [call = ''] = callIds(1);
    await rig.warm('L-1');
    await rig.record(call, [
      ['L-1', 70],
      ['L-2', 70],
      ['L-3', 70],
    ]);
    const { epoch } = await rig.read('L-1');
    const crmIds = ['L-1', 'L-2', 'L-3'];
    await settleWithRoom(call, epoch, { maxLeads: 3, crmIds, scores: [70, 70, 70] });
    const { scores } = await rig.read(...crmIds);
    expect(scores.map((known) => known?.score)).to.deep.equal([70, 70, undefined]);
  });

  it('keeps the leads of organisations and models apart', async () => {
    const [call = ''] = callIds(1);
    await rig.warm('L-1');
    await rig.score(call, [['L-1', 70]]);
    const read = (organisationId: string, modelId: string) =>
      rig.latest.read({ organisationId, modelIds: [modelId], crmIds: ['L-1'] });
    expect(await read('org_other', 'mdl_A')).to.have.nested.property('[0].scores').that.is.empty;
    expect(await read(rig.organisationId, 'mdl_B')).to.have.nested.property('[0].scores').that.is.empty;
  });

  it('expires a week after the last settled call', async () => {
    const [call = ''] = callIds(1);
    const weekMs = 7 * 24 * 60 * 60 * 1_000;
    await rig.warm('L-1');
    expect(await rig.redis.pttl(rig.key)).to.be.within(weekMs - 10_000, weekMs);
    await rig.redis.pexpire(rig.key, weekMs / 2);
    await rig.score(call, [['L-1', 70]]);
    expect(await rig.redis.pttl(rig.key)).to.be.within(weekMs - 10_000, weekMs);
  });
});
