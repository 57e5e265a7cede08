import { randomUUID } from 'node:crypto';
import { type ChildConfig, readWorkerConfig } from '../shared/config/config.js';
import { type Lane, lanes } from '../shared/contract/lanes.js';
import { LatestScores } from '../shared/latest-scores/latest-scores.js';
import { Lifecycle } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { batchNiceness, lowerPriority, lowNiceness } from '../shared/process/low-priority.js';
import { connectionReady, connectRedis } from '../shared/redis/connect.js';
import { PredictionStore } from '../shared/store/calls/predictions.js';
import { connectMongo } from '../shared/store/connection/connect.js';
import { loadBundle, loadManifest, loadModel } from '../shared/store/models/model-versions.js';
import { laneTimings } from './lanes/lane-worker.js';
import { PartitionWorkers } from './lanes/partition-workers.js';
import { ModelRegistry } from './models/model-registry.js';
import { CrashNoteWriter, noteDescriptor } from './pool/crash-note.js';
import { Heartbeats, heartbeatTimings } from './pool/heartbeats.js';
import type { ChildMessage, PoolMessage } from './pool/pool-child.js';
import { addCounts } from './pool/worker-counts.js';
import { beginChunk } from './scoring/score-chunk.js';

/*
 * One worker process: connections, models, a BullMQ worker of one lane for each of its partitions. It only reads from
 * MongoDB, so a job that stalls or runs twice does no harm.
 */

/** The limit of all loaded models. With WORKERS=2 a pool has up to six processes in 4 GB, and more in a replacement. */
const maxModelBytes = 512 * 1024 * 1024;
const maxLoads = 1_000; // ONNX leaks some memory with every model; the process is replaced after this many
const lookupTimeoutMs = 5_000;

/** The kernel prefers singles, which are short, and batches to bulk jobs. */
const nicenessOf: Readonly<Record<Exclude<Lane, 'singles'>, number>> = { batches: batchNiceness, bulk: lowNiceness };

async function start(config: ChildConfig, logger: Logger): Promise<void> {
  const { redisUrl, mongoUrl } = config;
  if (redisUrl === undefined || mongoUrl === undefined)
    throw new Error('a worker needs REDIS_URL and MONGODB_URL; its pool sets both');
  const lifecycle = new Lifecycle(logger);
  const connect = (name: string, kind: 'commands' | 'blocking') => {
    const { minPatienceMs } = config.timings.redis;
    const redis = connectRedis({ url: redisUrl, name: `leadscore-worker-${name}`, kind, logger, minPatienceMs });
    lifecycle.onStop(`redis ${name}`, async () => redis.disconnect());
    return redis;
  };
  const mongo = await connectMongo(mongoUrl, { name: 'leadscore-worker', maxPoolSize: 10 });
  lifecycle.onStop('mongo', () => mongo.client.close());
  const commands = connect('commands', 'commands');
  await connectionReady(commands);
  const crashNote = new CrashNoteWriter(noteDescriptor);
  const registry = new ModelRegistry(
    {
      loadModel: (modelId, version) => loadModel(mongo.database, modelId, version),
      loadBundle: (modelId, version) => loadBundle(mongo.database, modelId, version),
      loadManifest: (modelId, version) => loadManifest(mongo.database, modelId, version),
    },
    maxModelBytes,
    (run) => crashNote.duringRun(run),
    (model, reason) => logger.warn({ model, reason }, 'a model is explained by occlusion'),
  );
  lifecycle.onStop('models', () => registry.close());
  const scoring = {
    registry,
    latest: new LatestScores(commands),
    predictions: new PredictionStore(mongo.database),
    lookupTimeoutMs,
    retentionDays: config.retentionDays,
  };
  const [, , id = randomUUID(), given] = process.argv;
  const lane = lanes.find((each) => each === given);
  if (lane === undefined) throw new Error(`a worker needs its lane as second argument, but got ${given}`);
  if (lane !== 'singles' && config.lowersPriority) lowerPriority(nicenessOf[lane]);
  const report = reporter(registry);
  const beat = () => report(registry.counts.loads >= maxLoads ? 'worn' : 'heartbeat');
  const heartbeats = new Heartbeats({ ...heartbeatTimings, beat });
  const workers = new PartitionWorkers({
    self: { id, partitions: config.partitions },
    lane,
    connection: connect(lane, 'blocking'),
    commands,
    begin: (chunk) => {
      const score = beginChunk(chunk, scoring);
      return (signal) => heartbeats.during(() => score(signal));
    },
    crashNote,
    timings: laneTimings,
    logger,
  });
  await workers.start();
  lifecycle.add(workers);
  lifecycle.listenForSignals();
  lifecycle.followParent();
  process.on('message', (message: PoolMessage) => {
    if (message.kind !== 'succeeded') return;
    workers.leaveToSuccessor();
    process.kill(process.pid, 'SIGTERM');
  });
  report('ready');
  heartbeats.start();
}

/** @returns sends a message with the counts since the message before. A process without a pool sends none. */
function reporter(registry: ModelRegistry): (kind: ChildMessage['kind']) => void {
  let reported = registry.counts;
  return (kind) => {
    const { counts } = registry;
    const message: ChildMessage = { kind, ...addCounts(counts, reported, -1) };
    reported = counts;
    process.send?.(message);
  };
}

const config: ChildConfig = readWorkerConfig();
const logger = createLogger(config.logLevel, 'worker', { reportsOutages: false });
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, 'the worker could not start');
  process.exit(1);
});
