import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { acceptedCall } from '../../../api/call/score-outcome.js';
import type { ScoringCall } from '../../../api/call/scoring-call.js';
import { ColdVersions } from '../../../api/dispatch/cold-versions.js';
import { Dispatcher } from '../../../api/dispatch/dispatcher.js';
import { LaneQueues } from '../../../api/dispatch/lane-queues.js';
import { ReplyStream } from '../../../api/dispatch/reply-stream.js';
import { childProcessIds } from '../../../scripts/servers/process-usage.js';
import { signal } from '../../../scripts/servers/server-process.js';
import type { ApiError } from '../../../shared/contract/errors.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { ChunkFailure } from '../../../shared/messages/score-job.js';
import { createLogger } from '../../../shared/process/logger.js';
import { batchNiceness, largeCallsNiceness, lowNiceness } from '../../../shared/process/low-priority.js';
import { markBulkDemand } from '../../../shared/redis/bulk-demand.js';
import { bulkDemandKey } from '../../../shared/redis/keys.js';
import { WorkerRegister } from '../../../shared/redis/worker-register.js';
import type { Model } from '../../../shared/store/models/models.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';
import { crashingBundle, hangingBundle } from '../../support/faults/fault-models.js';
import { scored } from '../../support/http/score-reply.js';
import { leaveOut } from '../../support/leave-out.js';
import { sampleFeatures } from '../../support/models/sample-bundle.js';
import { deadlineIn, keyOf, scoringCall } from '../../support/scoring/scoring-call.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { itInFull } from '../../support/tier.js';

const withinMs = 45_000;
const workers = 2;

describe('the bulk workers of a running service', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let queues: LaneQueues;
  let replies: ReplyStream;
  let dispatcher: Dispatcher;
  let connections: readonly [Redis, Redis];
  let interactive: readonly number[];

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({
      gateways: 1,
      environment: { BULK_WORKERS: '1', LOWER_PRIORITY: 'yes', WORKERS: String(workers) },
    });
    own = await workspace(service);
    interactive = childProcessIds(service.stack.pool.pid);
    const logger = createLogger('silent', 'test');
    connections = [service.redis.duplicate(), service.redis.duplicate()];
    const [jobs, blocking] = connections;
    queues = new LaneQueues(jobs, 1, logger);
    replies = new ReplyStream({ gatewayId: 'runner', blocking, commands: jobs, logger });
    replies.start();
    dispatcher = new Dispatcher({ gatewayId: 'runner', queues, replies, coldVersions: new ColdVersions() });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await replies?.stop();
    await queues?.close();
    for (const connection of connections ?? []) connection.disconnect();
    await service?.stop();
  });

  const bulkPids = () => childProcessIds(service.stack.pool.pid).filter((pid) => !interactive.includes(pid));

  /** A call of 600 records, of which every tenth cannot be read. */
  const call = (lane: ScoringCall['lane']) =>
    scoringCall({
      apiKey: keyOf(own.id),
      lane,
      tolerant: true,
      explain: true,
      atMs: Date.now(),
      records: Array.from({ length: 600 }, (_, index) => ({
        crmId: null,
        fields: { company_size: index % 10 === 3 ? {} : index },
      })),
      deadline: deadlineIn(withinMs),
    });

  const score = async (of: ScoringCall, { _id: id, version }: Model = own.model) => {
    const knownFields = compileKnownFields({ features: sampleFeatures });
    return await dispatcher.score(of, { id, version, knownFields }, Promise.resolve());
  };

  it('are started by a mark of a runner, at a low priority, and registered apart', async () => {
    expect(interactive).to.have.length(2 * workers);
    await markBulkDemand(service.redis);
    const bulk = new WorkerRegister(service.redis, 'bulk');
    await eventually(async () => expect(await bulk.list()).to.have.length(1), withinMs);
    expect(await new WorkerRegister(service.redis, 'batches').list()).to.have.length(workers);
    const [pid = 0] = bulkPids();
    expect(bulkPids()).to.have.length(1);
    expect(getPriority(pid)).to.equal(lowNiceness);
    const priorities = interactive.map((each) => getPriority(each)).sort((one, other) => one - other);
    expect(priorities).to.deep.equal([getPriority(), getPriority(), batchNiceness, batchNiceness]);
  });

  it('score and refuse the records of tolerant calls, beside singles and batches of others', async () => {
    await markBulkDemand(service.redis);
    const sent = call('bulk');
    const [rows, ...beside] = await Promise.all([
      score(sent),
      own.score([{ company_size: 1 }]),
      own.score([{ company_size: 1 }, { company_size: 2 }]),
    ]);
    for (const reply of beside) scored(reply);
    expect(rows.refused.map(({ record }) => record)).to.deep.equal(
      sent.records.flatMap((_, index) => (index % 10 === 3 ? [index] : [])),
    );
    expect(acceptedCall(sent, rows).records).to.have.length(540);
    expect(rows.parts.flatMap(({ explained }) => explained?.drivers ?? [])).to.have.length(540);
    const asBatch = await score(call('batches'));
    expect(rows.parts.map(({ scores }) => scores)).to.deep.equal(asBatch.parts.map(({ scores }) => scores));
  });

  it('have a low priority in all their threads, also those that run models', async function () {
    if (process.platform !== 'linux') leaveOut(this, 'only Linux has a priority for each thread', 'run it on Linux');
    const [pid = 0] = bulkPids();
    const threads = readdirSync(`/proc/${pid}/task`).map(Number);
    expect(threads).to.have.length.above(5);
    expect(new Set(threads.map((thread) => getPriority(thread)))).to.deep.equal(new Set([lowNiceness]));
  });

  it('leave the gateway its priority, but for its thread for large calls', function () {
    if (process.platform !== 'linux') leaveOut(this, 'only Linux has a priority for each thread', 'run it on Linux');
    const [pid = 0] = service.stack.gateways.map((gateway) => gateway.pid);
    const priorities = readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)));
    const lowered = getPriority() < largeCallsNiceness ? [largeCallsNiceness] : [];
    expect(priorities.filter((each) => each !== getPriority())).to.deep.equal(lowered);
  });

  it('are replaced when one is killed, while there is a demand', async () => {
    await markBulkDemand(service.redis);
    const [killed = 0] = bulkPids();
    signal(killed, 'SIGKILL');
    await eventually(() => expect(bulkPids()).to.have.length(1).and.not.include(killed), withinMs);
    expect((await score(call('bulk'))).refused).to.have.length(60);
  });

  itInFull(
    'end with a model that crashes or hangs them, whose call fails at once, and leave the interactive ones alone',
    async function () {
      this.timeout(60_000);
      const failureWith = async (model: Model) => {
        await markBulkDemand(service.redis);
        const { records } = call('bulk');
        const error = await failureOf(score({ ...call('bulk'), records: records.slice(0, 1) }, model));
        return (error as ApiError).options.cause as ChunkFailure;
      };
      const crashing = await own.addModel({ bundle: crashingBundle() });
      for (let death = 0; death < 2; death += 1) {
        const [before = 0] = bulkPids();
        expect(await failureWith(crashing))
          .to.include({ code: 'scoring_failed' })
          .and.to.have.property('message')
          .that.includes('crashed');
        await eventually(() => expect(bulkPids()).to.have.length(1).and.not.include(before), withinMs);
      }
      expect(await failureWith(crashing)).to.include({ code: 'model_unavailable' });
      const hanging = await own.addModel({ bundle: hangingBundle() });
      expect((await failureWith(hanging)).message).to.include('hung');
      expect(childProcessIds(service.stack.pool.pid)).to.include.members([...interactive]);
      expect((await score(call('bulk'))).refused).to.have.length(60);
    },
  );

  it('still score a while after the last demand', async () => {
    await service.redis.del(bulkDemandKey);
    expect((await score(call('bulk'))).refused).to.have.length(60);
    expect(bulkPids()).to.have.length(1);
  });
});
