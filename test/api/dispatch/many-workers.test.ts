import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { ColdVersions } from '../../../api/dispatch/cold-versions.js';
import { Dispatcher } from '../../../api/dispatch/dispatcher.js';
import { LaneQueues } from '../../../api/dispatch/lane-queues.js';
import { ReplyStream } from '../../../api/dispatch/reply-stream.js';
import { LargeBodies, largeBytes, type QueuedCall } from '../../../api/request/large-bodies.js';
import { createLogger } from '../../../shared/process/logger.js';
import { laneTimings } from '../../../worker/lanes/lane-worker.js';
import { PartitionWorkers } from '../../../worker/lanes/partition-workers.js';
import { CrashNote, CrashNoteWriter } from '../../../worker/pool/crash-note.js';
import { deadlineIn, emptyModel, keyOf, scoredPart, scoringCall } from '../../support/scoring/scoring-call.js';
import { freshDatabases } from '../../support/service/servers.js';

const workers = 8;
const scoringMs = 20;
const logger = createLogger('silent', 'test');

describe('the large calls of one organisation, beside small calls of another', () => {
  let connections: Redis[];
  let crashNote: CrashNote;
  let running: PartitionWorkers[];
  let queues: LaneQueues;
  let replies: ReplyStream;
  let dispatcher: Dispatcher;
  /** The chunks that each worker has in hand. */
  let inHand: Map<number, number>;
  let mostBusy: number;

  before(async function () {
    this.timeout(30_000);
    const { redisUrl } = await freshDatabases();
    connections = [];
    const connect = () => {
      const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
      connections.push(connection);
      return connection;
    };
    crashNote = new CrashNote();
    [inHand, mostBusy] = [new Map(), 0];
    running = Array.from(
      { length: workers },
      (_, worker) =>
        new PartitionWorkers({
          self: { id: `worker-${worker}`, partitions: 1 },
          lane: 'batches',
          connection: connect(),
          commands: connect(),
          begin:
            ({ chunk }) =>
            async () => {
              inHand.set(worker, (inHand.get(worker) ?? 0) + 1);
              mostBusy = Math.max(mostBusy, [...inHand.values()].filter((count) => count > 0).length);
              await pause(scoringMs);
              inHand.set(worker, (inHand.get(worker) ?? 0) - 1);
              return { chunk, parts: [scoredPart([50])] };
            },
          crashNote: new CrashNoteWriter(crashNote.descriptor),
          timings: laneTimings,
          logger,
        }),
    );
    await Promise.all(running.map((each) => each.start()));
    const jobs = connect();
    queues = new LaneQueues(jobs, 1, logger);
    await queues.start();
    replies = new ReplyStream({ gatewayId: 'gw', blocking: connect(), commands: jobs, logger });
    replies.start();
    dispatcher = new Dispatcher({ gatewayId: 'gw', queues, replies, coldVersions: new ColdVersions() });
  });
  after(async function () {
    this.timeout(30_000);
    await replies?.stop();
    await queues?.close();
    await Promise.all((running ?? []).map((each) => each.stop()));
    for (const connection of connections ?? []) connection.disconnect();
    crashNote?.close();
  });

  const callOf = (organisation: string, bytes: number): QueuedCall => ({
    apiKey: { organisation_id: organisation },
    body: Buffer.alloc(bytes),
    deadline: { monotonicMs: performance.now() + 60_000 },
    hasHungUp: () => false,
  });

  it('use all workers of batches at once', async function () {
    this.timeout(60_000);
    const largeBodies = new LargeBodies(() => queues.workersOf('batches'));
    const scored = (): Promise<unknown> =>
      largeBodies.inTurn(callOf('a', largeBytes), async () => {
        const records = Array.from({ length: 1_000 }, () => ({ crmId: null, fields: {} }));
        const call = scoringCall({ apiKey: keyOf('a'), deadline: deadlineIn(60_000), records });
        return await dispatcher.score(call, emptyModel, Promise.resolve());
      });
    const caller = async (): Promise<void> => {
      for (let call = 0; call < 10; call += 1) await scored();
    };
    await largeBodies.inTurn(callOf('b', 1), async () => undefined);
    await Promise.all(Array.from({ length: 16 }, caller));
    expect(mostBusy).to.equal(workers);
  });
});
