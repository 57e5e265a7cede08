import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Queue, QueueEvents, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import Koa from 'koa';
import { listen } from '../../../shared/process/admin-server.js';
import { scoredAtHeader } from '../load/check-replies.js';
import { FloorScorer } from '../load/floor-scorer.js';

/**
 * A process of the baseline: `bare-process.js gateway REDIS_URL` or `bare-process.js worker REDIS_URL BUNDLE`. The
 * gateway is Koa with one BullMQ job per call and `job.waitUntilFinished`. It neither authenticates nor meters nor
 * records.
 */

interface BareJob {
  /** JSON of a V1ScoreRequest. */
  readonly body: string;
  /** Unix ms that ages are counted to. */
  readonly nowMs: number;
}

const queueName = 'bare-score';
const timeoutMs = 10_000;
/** `waitUntilFinished` needs the finished job until its caller has asked for it once. */
const finishedKept = { count: 1_000 };
/** Jobs in flight per worker. One or sixteen give no more calls per second. */
const concurrency = 4;

/** @returns its address */
async function startGateway(redisUrl: string): Promise<string> {
  const queue = new Queue<BareJob, string>(queueName, {
    connection: new Redis(redisUrl),
    defaultJobOptions: { removeOnComplete: finishedKept, removeOnFail: finishedKept },
  });
  const events = new QueueEvents(queueName, {
    connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
  });
  // Each waiting call adds a listener to both.
  queue.setMaxListeners(0);
  events.setMaxListeners(0);
  const app = new Koa();
  app.use(async (context) => {
    const body = await text(context.req);
    const nowMs = Date.now();
    const job = await queue.add('score', { body, nowMs });
    context.set(scoredAtHeader, String(nowMs));
    context.type = 'json';
    context.body = await job.waitUntilFinished(events, timeoutMs);
  });
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  const server = createServer({ keepAliveTimeout: 65_000 }, app.callback());
  await listen(server, '127.0.0.1', 0);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs the service's own code from the parsing to the scores. */
async function startWorker(redisUrl: string, bundlePath: string): Promise<undefined> {
  const scorer = await FloorScorer.load(bundlePath);
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const score = ({ data }: { readonly data: BareJob }) => scorer.answer(data.body, data.nowMs);
  await new Worker<BareJob, string>(queueName, score, { connection, concurrency }).waitUntilReady();
  return undefined;
}

const [, , role, redisUrl = '', bundlePath = ''] = process.argv;
const url = role === 'gateway' ? await startGateway(redisUrl) : await startWorker(redisUrl, bundlePath);
process.send?.({ kind: 'ready', url });
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
