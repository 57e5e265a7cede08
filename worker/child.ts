import { type ChildConfig, readWorkerConfig } from '../shared/config/config.js';
import { LatestScores } from '../shared/latest-scores/latest-scores.js';
import { lanes } from '../shared/messages/score-job.js';
import { Lifecycle } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { connectionReady, connectRedis } from '../shared/redis/connect.js';
import { PredictionStore } from '../shared/store/calls/predictions.js';
import { connectMongo } from '../shared/store/connection/connect.js';
import { loadBundle, loadManifest } from '../shared/store/models/model-versions.js';
import { closeWorker, startLaneWorker } from './lanes/lane-worker.js';
import { ModelRegistry } from './models/model-registry.js';
import { CrashNoteWriter, noteDescriptor } from './pool/crash-note.js';
import { aliveIntervalMs, type ChildMessage } from './pool/pool-child.js';
import { beginChunk } from './scoring/score-chunk.js';

/*
 * One worker process: connections, models, a BullMQ worker a lane. It reads from MongoDB and never writes to it, so a
 * job that stalls or runs twice can harm nothing.
 */

const loadedModels = 50;
/** ONNX keeps some memory of every model that was loaded and released; a process ends after this many. */
const loadsOfALife = 1_000;
const lookupTimeoutMs = 5_000;
/** Singles are short; two batches overlap one's look-ups with the other's run. */
const laneConcurrency = {
  singles: { concurrency: 4, oneAtATime: true },
  batches: { concurrency: 2, oneAtATime: false },
} as const;

async function start(config: ChildConfig, logger: Logger): Promise<void> {
  const { redisUrl, mongoUrl } = config;
  if (redisUrl === undefined || mongoUrl === undefined)
    throw new Error('a worker needs REDIS_URL and MONGODB_URL');
  const lifecycle = new Lifecycle(logger);
  const connect = (name: string, kind: 'commands' | 'blocking') => {
    const redis = connectRedis({ url: redisUrl, name: `leadscore-worker-${name}`, kind, logger });
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
      loadBundle: (modelId, version) => loadBundle(mongo.database, modelId, version),
      loadManifest: (modelId, version) => loadManifest(mongo.database, modelId, version),
    },
    loadedModels,
    (modelKey, run) => crashNote.during(modelKey, run),
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
  for (const lane of lanes) {
    const connection = connect(lane, 'blocking');
    const worker = startLaneWorker({
      lane,
      ...laneConcurrency[lane],
      connection,
      commands,
      begin: (chunk) => beginChunk(chunk, scoring),
      logger,
    });
    await worker.waitUntilReady();
    void worker.run();
    lifecycle.onStop(`lane ${lane}`, () => closeWorker(worker, connection));
  }
  lifecycle.listenForSignals();
  lifecycle.followParent();
  reportToPool(registry);
}

/** Says `ready` once, `alive` from then on, and `worn` when it is time for a fresh process. */
function reportToPool(registry: ModelRegistry): void {
  if (process.send === undefined) return;
  let told = 0;
  const tell = (kind: ChildMessage['kind']) => {
    const { unreadableCount } = registry;
    const message: ChildMessage = { kind, unreadable: unreadableCount - told };
    told = unreadableCount;
    process.send?.(message);
  };
  tell('ready');
  setInterval(() => tell(registry.loadCount >= loadsOfALife ? 'worn' : 'alive'), aliveIntervalMs).unref();
}

const config: ChildConfig = readWorkerConfig();
const logger = createLogger(config.logLevel, 'worker');
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, 'the worker could not start');
  process.exit(1);
});
