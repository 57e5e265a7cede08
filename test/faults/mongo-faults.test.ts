import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNobodyElseDied } from '../support/fault-checks.js';
import {
  AnswerClock,
  type CallOutcome,
  recordsAnswered,
  recoveryMs,
  statuses,
  timed,
  underLoad,
} from '../support/fault-load.js';
import {
  type FaultService,
  sharedDeadlineMs,
  sharedFaultService,
  sharedLeaseMs,
} from '../support/fault-service.js';
import { scored } from '../support/score-reply.js';
import { startTimeoutMs } from '../support/service.js';
import { type TestWorkspace, workspace } from '../support/workspace.js';

const recordsPerCall = 3;
const lead = { crm_id: 'L-1', company_size: 120 };
const leads = Array.from({ length: recordsPerCall }, () => lead);
const recoveredWithinMs = 15_000;
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);
const stepDownSeconds = 2;

describe('MongoDB under load', () => {
  let service: FaultService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });
  beforeEach(async () => {
    own = await workspace(service);
    await eventually(async () => scored(await own.score([lead])));
  });
  afterEach(async () => {
    await expectNobodyElseDied(service);
  });

  /**
   * Makes calls before, during and after a fault, until they are answered with 200 again. Each is answered by its
   * deadline, and what is counted is what was answered with 200.
   */
  async function during(fault: () => Promise<unknown>): Promise<readonly CallOutcome[]> {
    const clock = new AnswerClock(sharedDeadlineMs);
    let endMs = 0;
    const outcomes = await underLoad(
      () => own.score(leads),
      async () => {
        await pause(300);
        await fault();
        endMs = performance.now();
        await eventually(async () => scored(await own.score([lead])), recoveredWithinMs);
        await pause(500);
      },
    );
    clock.expectInTime(outcomes);
    expect(recoveryMs(outcomes, endMs)).to.be.below(recoveredWithinMs);
    const counted = await expectExact(own, exactWithinMs);
    expect(counted, JSON.stringify(statuses(outcomes))).to.equal(
      2 + recordsAnswered(outcomes, recordsPerCall),
    );
    return outcomes;
  }

  it('is frozen for longer than a deadline', async function () {
    this.timeout(startTimeoutMs);
    await during(async () => {
      service.cluster.freeze('mongo');
      await pause(sharedDeadlineMs + 1_500);
      service.cluster.thaw('mongo');
    });
  });

  it('is frozen: calls that read are answered by the deadline as well', async function () {
    this.timeout(startTimeoutMs);
    await own.call('/v1/usage');
    const clock = new AnswerClock(sharedDeadlineMs);
    service.cluster.freeze('mongo');
    const read = (path: string) => timed(() => own.call(path));
    const outcomes = await Promise.all([
      read('/v1/scores/L-1'),
      read('/v1/usage'),
      read('/v1/models'),
      read(`/v1/models/${own.model._id}`),
      timed(() => own.call('/v1/scores/unknown', { method: 'DELETE' })),
    ]).finally(() => service.cluster.thaw('mongo'));
    clock.expectInTime(outcomes);
    await eventually(async () => expect((await own.call('/v1/scores/L-1')).status).to.equal(200), 5_000);
  });

  it('steps down', async function () {
    this.timeout(startTimeoutMs);
    await during(async () => {
      const client = await MongoClient.connect(service.cluster.mongoUrl);
      const admin = client.db('admin');
      await admin.command({ replSetStepDown: stepDownSeconds, force: true });
      await client.close();
    });
  });

  it('is killed and started again on its data', async function () {
    this.timeout(startTimeoutMs);
    await during(async () => {
      await service.cluster.kill('mongo');
      await service.cluster.revive('mongo');
    });
  });
});
