/**
 * One worker process of the baseline: takes a call's body from the queue and returns its reply, by the service's own code
 * from the parsing to the scores. Started with the address of a Redis and the path of a model bundle.
 */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { type BareJob, bareQueueName } from './bare-messages.js';
import { FloorScorer } from './floor-scorer.js';

/** As the service's own workers have for singles while one takes long. */
const concurrency = 4;

const [, , redisUrl = '', bundlePath = ''] = process.argv;
const scorer = await FloorScorer.load(bundlePath);
const worker = new Worker<BareJob, string>(
  bareQueueName,
  ({ data }) => scorer.answer(data.body, data.nowMs),
  {
    connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
    concurrency,
  },
);
await worker.waitUntilReady();
process.send?.({});
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
