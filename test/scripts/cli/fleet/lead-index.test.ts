import { expect } from 'chai';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { ownLevel } from '../../../../shared/process/release.js';
import { ProcessRegister } from '../../../../shared/redis/process-register.js';
import { callsCollection } from '../../../../shared/store/calls/prediction-segment.js';
import { createClustered } from '../../../../shared/store/connection/connect.js';
import { itInFull } from '../../../support/tier.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('leadscore lead-index', () => {
  let desk: OperatorDesk;

  beforeEach(async () => {
    desk = await operatorDesk();
  });
  afterEach(() => desk.leave());

  it('changes nothing in a new database, which has the smaller index', async () => {
    await desk.newOrganisation();
    const { stdout } = await desk.run('lead-index', '--apply');
    expect(stdout).to.equal('This database has the smaller lead index. There is nothing to do.\n');
    expect(await desk.document('lead-index')).to.deep.equal({
      ...{ step: 'complete', has_old_index: false, segments_filled: 0 },
    });
  });

  /** A database of an earlier release, with a segment that has no number. */
  async function olderDatabase(): Promise<void> {
    const { database } = desk.stores;
    await createClustered(database, callsCollection);
    await desk.document('migrate');
    const org = await desk.newOrganisation();
    const segment = { _id: callIdGenerator()(Date.now(), org), org, crm_ids: ['L-1'], scores: [1] };
    await database.collection<{ _id: string }>(callsCollection).insertOne(segment);
  }

  it('refuses to begin while a process of an earlier release runs, and changes nothing', async () => {
    await olderDatabase();
    const register = new ProcessRegister(desk.redis);
    const state = { upMs: 1, clockAheadMs: 0, disk: null, settings: {} };
    const older = { kind: 'gateway', release: '0.1.0', host: 'web-1', pid: 210, ...state } as const;
    await register.note('older', older);
    await register.note('newer', { ...older, level: ownLevel, pid: 211 });
    const { exitCode, stderr } = await desk.run('lead-index', '--apply');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('gateway web-1:210.').and.not.include('211');
    expect(await desk.document('lead-index')).to.include({ step: 'text' });
    expect((await desk.stores.database.collection(callsCollection).options()).validator).to.equal(undefined);
  });

  itInFull('moves an older database, and waits until no process reads by the old index', async function () {
    this.timeout(60_000);
    await olderDatabase();
    const moved = { step: 'complete', has_old_index: false, segments_filled: 1 };
    expect(await desk.document('lead-index', '--apply')).to.deep.equal(moved);
  });
});
