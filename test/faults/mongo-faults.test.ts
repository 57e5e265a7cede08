import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { callsCollection } from '../../shared/store/calls/prediction-segment.js';
import { eventually } from '../support/eventually.js';
import { expectExact } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { AnswerClock, statuses, timed } from '../support/faults/fault-load.js';
import { duringFault, onSharedFaultService } from '../support/faults/fault-run.js';
import { type FaultService, sharedDeadlineMs } from '../support/faults/fault-service.js';
import { refused, scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const lead = { crm_id: 'L-1', company_size: 120 };
const recoveredWithinMs = 15_000;
const stepDownSeconds = 2;
const callsPerRound = 100;
const unconfirmedMs = 40_000;

describe('a service under load whose MongoDB fails', () => {
  let service: FaultService;
  let own: TestWorkspace;

  onSharedFaultService(lead, (running, fresh) => {
    service = running;
    own = fresh;
  });

  it('answers calls by their deadline and recovers when MongoDB is frozen for longer', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'MongoDB frozen for longer than a deadline',
      cause: async () => {
        service.cluster.freeze('mongo');
        await pause(sharedDeadlineMs + 1_500);
        service.cluster.thaw('mongo');
      },
      recoveredWithinMs,
      from: 'end',
    });
  });

  itInFull('answers reads and outcomes by their deadline while MongoDB is frozen', async function () {
    this.timeout(startTimeoutMs);
    await own.call('/v1/usage');
    const unknown = await workspace(service);
    const read = (path: string) => timed(() => own.call(path));
    const outcome = { crm_id: 'L-1', converted: true, at: '2026-01-02' };
    const report = (to: TestWorkspace) => timed(() => to.call('/v1/outcomes', { body: { outcomes: [outcome] } }));
    const [clock, outcomes] = await AnswerClock.during(service, sharedDeadlineMs, () => {
      service.cluster.freeze('mongo');
      return Promise.all([
        read('/v1/scores/L-1'),
        read('/v1/usage'),
        read('/v1/models'),
        read(`/v1/models/${own.model._id}`),
        timed(() => own.call('/v1/scores/unknown', { method: 'DELETE' })),
        report(own),
        report(unknown),
      ]).finally(() => service.cluster.thaw('mongo'));
    });
    clock.expectInTime(outcomes);
    for (const { reply } of outcomes)
      if (reply !== undefined && reply.status !== 200) refused(reply, '500 internal_error');
    printFigures({
      fault: 'MongoDB frozen: reads and outcomes',
      answers: statuses(outcomes),
      slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
    });
    await eventually(async () => expect((await own.call('/v1/scores/L-1')).status).to.equal(200), 5_000);
  });

  itInFull('recovers when MongoDB steps down', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: `MongoDB steps down for ${stepDownSeconds} s`,
      cause: async () => {
        const client = await MongoClient.connect(service.cluster.mongoUrl);
        const admin = client.db('admin');
        await admin.command({ replSetStepDown: stepDownSeconds, force: true });
        await client.close();
      },
      recoveredWithinMs,
      from: 'beginning',
    });
  });

  itInFull('recovers when MongoDB is killed and started on its data', async function () {
    this.timeout(startTimeoutMs);
    await duringFault(service, own, {
      fault: 'MongoDB killed and started on its data',
      cause: async () => {
        await service.cluster.kill('mongo');
        await service.cluster.revive('mongo');
      },
      recoveredWithinMs,
      from: 'end',
    });
  });

  it('refuses calls at once while a majority confirms no write, and counts none of those before', async function () {
    this.timeout(2 * startTimeoutMs);
    const counted = await expectExact(own);
    const client = await MongoClient.connect(service.cluster.mongoUrl);
    const unconfirmed = {
      failCommands: ['insert', 'commitTransaction'],
      writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
    };
    const failPoint = (mode: 'alwaysOn' | 'off', data = {}) =>
      client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
    await failPoint('alwaysOn', unconfirmed);
    const figures = { fault: 'MongoDB does not confirm writes', recorded_unconfirmed: 0, refused_within_ms: 0 };
    try {
      // Each round adds calls to void, until the one gateway has too many.
      await eventually(async () => {
        const calls = Array.from({ length: callsPerRound }, () => own.score([lead], { gateway: 1 }));
        for (const reply of await Promise.all(calls)) refused(reply, '500 internal_error');
        const { tookMs, reply } = await timed(() => own.score([lead], { gateway: 1 }));
        expect(reply?.text).to.include('does not confirm its writes');
        expect(reply?.headers.get('retry-after')).to.equal('1');
        // A busy machine delays some answers.
        expect(tookMs).to.be.below(sharedDeadlineMs / 2);
        figures.refused_within_ms = tookMs;
      }, unconfirmedMs);
      figures.recorded_unconfirmed = (await own.ledgerSum()) - counted;
    } finally {
      await failPoint('off');
      await client.close();
    }
    await eventually(async () => scored(await own.score([lead], { gateway: 1 })), recoveredWithinMs);
    printFigures(figures);
    await expectExact(own, recoveredWithinMs, counted + 1);
  });

  it('scores for one organisation while more reads of another are slow than a gateway has connections', async function () {
    this.timeout(startTimeoutMs);
    const other = await workspace(service);
    scored(await other.score([lead], { gateway: 1 }));
    scored(await own.score([lead], { gateway: 1 }));
    const client = await MongoClient.connect(service.cluster.mongoUrl);
    const admin = client.db('admin');
    const namespace = `${client.db().databaseName}.${callsCollection}`;
    const slowReads = { failCommands: ['find'], namespace, blockConnection: true, blockTimeMS: sharedDeadlineMs / 2 };
    await admin.command({ configureFailPoint: 'failCommand', mode: 'alwaysOn', data: slowReads });
    try {
      const reads = Array.from({ length: 25 }, () => other.call('/v1/scores/L-1', { gateway: 1 }));
      await eventually(async () => {
        const ofCalls = { 'command.find': callsCollection, appName: 'leadscore-gateway' };
        expect(await admin.aggregate([{ $currentOp: {} }, { $match: ofCalls }]).toArray()).to.have.length(10);
      });
      const score = own.score([{ company_size: 120 }], { gateway: 1 });
      const isFirst = await Promise.race([score.then(() => true), ...reads.map((read) => read.then(() => false))]);
      expect(isFirst, 'answered before the first read').to.equal(true);
      scored(await score);
      await Promise.all(reads);
    } finally {
      await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
      await client.close();
    }
  });
});
