import { expect } from 'chai';
import { type Document, MaxKey, MinKey } from 'mongodb';
import { type ClusterState, shardCommands } from '../../../shared/store/connection/sharding.js';
import { callCli } from './cli-call.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

/** The state that commands leave behind, as the config database stores it. */
function stateAfter(commands: readonly Document[], { shards, zones, sharded }: ClusterState): ClusterState {
  let ranges = [...zones];
  const names = new Set(sharded);
  for (const { updateZoneKeyRange: ns, min, max, zone, shardCollection } of commands) {
    if (shardCollection !== undefined) names.add(shardCollection);
    if (ns === undefined) continue;
    const same = (range: ClusterState['zones'][number]) =>
      range.ns === ns && JSON.stringify([range.min, range.max]) === JSON.stringify([min, max]);
    ranges = ranges.filter((range) => !same(range));
    if (zone !== null) ranges.push({ ns, min, max, tag: zone });
  }
  return { shards, zones: ranges, sharded: [...names] };
}

const rangesOf = ({ zones }: ClusterState, ns: string) =>
  zones.filter((zone) => zone.ns === ns).map(({ min, max, tag }) => [min._id, max._id, tag]);

describe('leadscore shard', () => {
  const empty = { zones: [], sharded: [] };

  it('gives each shard an equal range of organisations, the same in each collection', () => {
    const cluster = { shards: ['a', 'b', 'c', 'd'], ...empty };
    const after = stateAfter(shardCommands('leadscore', cluster), cluster);
    expect(rangesOf(after, 'leadscore.calls')).to.deep.equal([
      [new MinKey(), 'FV', 'leadscore-a'],
      ['FV', 'V0', 'leadscore-b'],
      ['V0', 'kV', 'leadscore-c'],
      ['kV', new MaxKey(), 'leadscore-d'],
    ]);
    for (const name of ['idempotency', 'usage_daily', 'field_days'])
      expect(rangesOf(after, `leadscore.${name}`).map(([from]) => from)).to.deep.equal([
        new MinKey(),
        'org_FV',
        'org_V0',
        'org_kV',
      ]);
    expect(after.zones.find(({ ns, tag }) => ns === 'leadscore.outcomes' && tag === 'leadscore-b')).to.deep.include({
      min: { org: 'org_FV', crm_id: new MinKey() },
      max: { org: 'org_V0', crm_id: new MinKey() },
    });
    expect(after.sharded).to.have.members(
      [
        ...['calls', 'candidate_scores', 'idempotency', 'outcomes', 'call_days', 'usage_daily', 'field_days'],
        ...['job_slices', 'job_blobs', 'job_uploads'],
      ].map((name) => `leadscore.${name}`),
    );
  });

  it('changes nothing when it runs again, and replaces its ranges after a shard was added', () => {
    const two = { shards: ['a', 'b'], ...empty };
    const ofOperator = { ns: 'leadscore.calls', min: { _id: 'x' }, max: { _id: 'y' }, tag: 'large' };
    const once = stateAfter(shardCommands('leadscore', two), { ...two, zones: [ofOperator] });
    const again = shardCommands('leadscore', once);
    expect(stateAfter(again, once)).to.deep.equal(once);
    expect(again.filter(({ zone, shardCollection }) => zone === null || shardCollection !== undefined)).to.deep.equal(
      [],
    );
    const three = { ...once, shards: ['a', 'b', 'c'] };
    const grown = stateAfter(shardCommands('leadscore', three), three);
    expect(rangesOf(grown, 'leadscore.calls')).to.have.deep.members([
      ['x', 'y', 'large'],
      [new MinKey(), 'Kf', 'leadscore-a'],
      ['Kf', 'fL', 'leadscore-b'],
      ['fL', new MaxKey(), 'leadscore-c'],
    ]);
  });

  describe('on a replica set', () => {
    let desk: OperatorDesk;

    before(async () => {
      desk = await operatorDesk();
    });
    after(() => desk.leave());

    it('is refused, because the server is no mongos', async () => {
      for (const words of [['shard'], ['shard', '--apply']]) {
        const { exitCode, stderr } = await callCli(words, desk.settings);
        expect(exitCode).to.equal(1);
        expect(stderr).to.include('no mongos').and.include('MONGODB_URL');
      }
    });
  });
});
