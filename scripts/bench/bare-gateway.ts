/**
 * The HTTP process of the baseline: Koa, one BullMQ job per call, and `job.waitUntilFinished`. It neither authenticates
 * nor meters nor records; its workers are `bare-worker.ts`. Started with the address of a Redis.
 */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Queue, QueueEvents } from 'bullmq';
import { Redis } from 'ioredis';
import Koa from 'koa';
import { listen } from '../../shared/admin-server.js';
import { type BareJob, type BareReady, bareQueueName, scoredAtHeader } from './bare-messages.js';

const longestWaitMs = 10_000;
/** Enough that a job is there still when its caller first asks whether it has finished. */
const finishedKept = { count: 1_000 };

const [, , redisUrl = ''] = process.argv;
const queue = new Queue<BareJob, string>(bareQueueName, {
  connection: new Redis(redisUrl),
  defaultJobOptions: { removeOnComplete: finishedKept, removeOnFail: finishedKept },
});
const events = new QueueEvents(bareQueueName, {
  connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
});
// Every call that waits is a listener of both.
queue.setMaxListeners(0);
events.setMaxListeners(0);

const app = new Koa();
app.use(async (context) => {
  const body = await text(context.req);
  const nowMs = Date.now();
  const job = await queue.add('score', { body, nowMs });
  context.set(scoredAtHeader, String(nowMs));
  context.type = 'json';
  context.body = await job.waitUntilFinished(events, longestWaitMs);
});

await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
const server = createServer({ keepAliveTimeout: 65_000 }, app.callback());
await listen(server, '127.0.0.1', 0);
const address = server.address();
const ready: BareReady = { port: typeof address === 'object' && address !== null ? address.port : 0 };
process.send?.(ready);
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
