import { expect } from 'chai';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';
import { bestMs, durationMs } from '../../support/beats.js';
import { eventually } from '../../support/eventually.js';
import { holdAndDie } from '../../support/faults/abandoned-lease.js';
import { scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120 };
const sweptWithinMs = 12_000; // many intervals of the sweep, for a busy machine

describe('abandoned leases', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('settles an abandoned lease whose call is in the ledger, and releases the others', async () => {
    const own = await workspace(service);
    scored(await own.score([lead]));
    const recorded = await holdAndDie(own, 7);
    await holdAndDie(own, 11);
    expect(await own.redisUsage()).to.deep.equal({ used: 1, leased: 18 });
    await service.stores.ledgerRows.insertOne(rowOf(own, recorded, 7));
    await eventually(async () => expect(await own.redisUsage()).to.deep.equal({ used: 8, leased: 0 }), sweptWithinMs);
    expect(scored(await own.score([lead])).usage.current).to.equal(9);
  });

  it('rejects a commit after the sweep released the lease', async () => {
    const own = await workspace(service);
    scored(await own.score([lead]));
    const late = await holdAndDie(own, 11);
    await eventually(async () => expect(await own.redisUsage()).to.deep.equal({ used: 1, leased: 0 }), sweptWithinMs);
    const commit = service.stores.ledgerRows.insertOne(rowOf(own, late, 11));
    await commit.then(
      () => expect.fail('the late commit succeeded'),
      (error) => expect(error).to.include({ code: 11_000 }),
    );
    expect(await own.ledgerSum()).to.equal(1);
  });

  it('fences calls after a concurrent commit, and returns the committed ones', async () => {
    const own = await workspace(service);
    const { ledger, ledgerRows, database } = service.stores;
    const [committed, aborted] = ['call-committed', 'call-aborted'].map((call) => `${own.id}-${call}`);
    if (committed === undefined || aborted === undefined) throw new Error('two call ids are needed');
    const sessions = await Promise.all(
      [committed, aborted].map(async (callId) => {
        const session = database.client.startSession();
        session.startTransaction({ writeConcern: { w: 'majority' } });
        await ledgerRows.insertOne(rowOf(own, callId, 3), { session });
        return session;
      }),
    );
    try {
      const fencing = ledger.fenceCalls([committed, aborted]);
      await Promise.all([sessions[0]?.commitTransaction(), sessions[1]?.abortTransaction()]);
      expect([...(await fencing)]).to.deep.equal([committed]);
      const late = ledgerRows.insertOne(rowOf(own, aborted, 3)).catch((error: unknown) => error);
      expect(await late).to.include({ code: 11_000 });
      expect([...(await ledger.fenceCalls([aborted, committed]))]).to.deep.equal([committed]);
    } finally {
      await Promise.all(sessions.map((session) => session.endSession()));
    }
  });

  it('fences calls within 5 s while an abandoned transaction holds one of them', async () => {
    const own = await workspace(service);
    const { ledger, ledgerRows, database } = service.stores;
    const callIds = ['first', 'in the way', 'last'].map((call) => `${own.id} ${call}`);
    const session = database.client.startSession();
    session.startTransaction();
    await ledgerRows.insertOne(rowOf(own, callIds[1] ?? '', 3), { session });
    try {
      const fence = async () => expect([...(await ledger.fenceCalls(callIds))]).to.deep.equal([]);
      expect(await bestMs(5_000, () => durationMs(fence))).to.be.below(5_000);
    } finally {
      await session.endSession(); // aborts the transaction
    }
  });

  it('sweeps an abandoned lease after Redis was emptied', async function () {
    this.timeout(startTimeoutMs);
    const disposable = await sharedService('disposable');
    const own = await workspace(disposable);
    scored(await own.score([lead]));
    for (const node of disposable.redisNodes) await node.flushall();
    scored(await own.score([lead]));
    await holdAndDie(own, 11);
    await eventually(async () => expect(await own.redisUsage()).to.deep.equal({ used: 2, leased: 0 }), sweptWithinMs);
  });
});

/** The ledger row of a call whose gateway died before the reply. */
function rowOf(own: TestWorkspace, callId: string, records: number): LedgerRow {
  return {
    _id: callId,
    request_id: 'a gateway that died',
    org: own.id,
    key: own.live.key._id,
    bucket: 'live',
    month: own.counter().month,
    records,
    model: own.model._id,
    version: own.model.version,
    at: new Date(own.service.clock.now()),
  };
}
