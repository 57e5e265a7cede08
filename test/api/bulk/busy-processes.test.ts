import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { SliceWindow } from '../../../api/bulk/slice-window.js';
import { ColdVersions } from '../../../api/dispatch/cold-versions.js';
import { Dispatcher } from '../../../api/dispatch/dispatcher.js';
import { LaneQueues } from '../../../api/dispatch/lane-queues.js';
import { ReplyStream } from '../../../api/dispatch/reply-stream.js';
import { Limit } from '../../../shared/async/at-once.js';
import type { Lane } from '../../../shared/contract/lanes.js';
import { createLogger } from '../../../shared/process/logger.js';
import { laneTimings } from '../../../worker/lanes/lane-worker.js';
import { PartitionWorkers } from '../../../worker/lanes/partition-workers.js';
import { CrashNote, CrashNoteWriter } from '../../../worker/pool/crash-note.js';
import { deadlineIn, emptyModel, keyOf, scoredPart, scoringCall } from '../../support/scoring/scoring-call.js';
import { freshDatabases } from '../../support/service/servers.js';

const bulkProcesses = 16;
const bulkChunkMs = 50;
const singleMs = 5;
const singleEveryMs = 20;
const measuredMs = 4_000;
const logger = createLogger('silent', 'test');

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

describe('a bulk job beside singles, in a fleet of 16 worker processes of bulk jobs', () => {
  let connections: Redis[];
  let crashNote: CrashNote;
  let running: PartitionWorkers[];
  let queues: LaneQueues;
  let replies: ReplyStream;
  let dispatcher: Dispatcher;
  /** The chunks that each process of bulk jobs has in hand. */
  let inHand: number[];

  before(async function () {
    this.timeout(30_000);
    const { redisUrl } = await freshDatabases();
    [connections, inHand] = [[], Array.from({ length: bulkProcesses }, () => 0)];
    const connect = () => {
      const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
      connections.push(connection);
      return connection;
    };
    crashNote = new CrashNote();
    const workerOf = (lane: Lane, index: number, tookMs: number) => {
      const hold = (change: number): void => {
        if (lane === 'bulk') inHand[index] = (inHand[index] ?? 0) + change;
      };
      // One chunk at a time: a real process computes one, whatever it has in hand.
      const computing = new Limit(1);
      return new PartitionWorkers({
        ...{ self: { id: `${lane}-${index}`, partitions: 1 }, lane, connection: connect(), commands: connect() },
        begin:
          ({ chunk, parts }) =>
          async () => {
            hold(1);
            await computing.run(() => pause(tookMs));
            hold(-1);
            return { chunk, parts: parts.map(({ rows }) => scoredPart(rows.map(() => 50))) };
          },
        ...{ crashNote: new CrashNoteWriter(crashNote.descriptor), timings: laneTimings, logger },
      });
    };
    running = [
      ...Array.from({ length: bulkProcesses }, (_, index) => workerOf('bulk', index, bulkChunkMs)),
      ...Array.from({ length: 2 }, (_, index) => workerOf('singles', index, singleMs)),
    ];
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

  const score = (lane: Lane) => {
    const call = scoringCall({ apiKey: keyOf(lane), lane, deadline: deadlineIn(60_000) });
    return dispatcher.score(call, emptyModel, Promise.resolve());
  };
  /** As many chunks as a slice of 1,000 rows has, but of one record each: this process plays the whole fleet. */
  const scoreSlice = async () => void (await Promise.all(Array.from({ length: 4 }, () => score('bulk'))));

  it('keeps at least 12 of them busy', async function () {
    this.timeout(60_000);
    await score('bulk');
    await score('singles');
    const window = new SliceWindow(queues);
    const untilMs = performance.now() + measuredMs;
    const isOver = (): boolean => performance.now() > untilMs;
    const singles: Promise<unknown>[] = [];
    const callSingles = async (): Promise<void> => {
      for (; !isOver(); await pause(singleEveryMs)) singles.push(score('singles'));
    };
    const slice = async (): Promise<void> => (isOver() ? undefined : await scoreSlice());
    const takeTurns = async (): Promise<void> => {
      for (; !isOver(); window.endTurn())
        await Promise.all(Array.from({ length: 4 * window.max }, () => window.run('job', slice)));
    };
    const busy: number[] = [];
    const watch = async (): Promise<void> => {
      for (; !isOver(); await pause(singleEveryMs)) busy.push(inHand.filter((count) => count > 0).length);
    };
    await Promise.all([callSingles(), takeTurns(), watch()]);
    await Promise.all(singles);
    expect(singles.length).to.be.above(20);
    expect(window.max).to.equal(2 * bulkProcesses);
    expect(median(busy), `processes with a chunk in hand: ${busy}`).to.be.at.least(12);
  });
});
