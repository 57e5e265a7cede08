import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { connectMongo } from '../../shared/store/connect.js';
import { generateLeads } from '../demo/lead-generator.js';
import { seededRandom } from '../demo/seeded-random.js';
import { type OnEnd, stoppedAtEnd } from '../stack/run-to-end.js';
import { causeFaults } from './cause-faults.js';
import { ChaosLoad } from './chaos-load.js';
import { chaosPepper, createOrganisations } from './chaos-organisations.js';
import { type ChaosResult, summarize } from './chaos-result.js';
import { checkHistory, notJudged } from './check-history.js';
import { Cluster } from './cluster.js';
import { quietCounters, readLedger, type TruthRooms } from './collect-truth.js';
import type { ChaosStage } from './fault.js';
import { chaosFaults } from './faults.js';
import type { FaultEvent } from './history.js';
import { HistoryLog } from './history-log.js';
import { meanRecords } from './plan-call.js';
import { unexpectedDeaths } from './unexpected-deaths.js';
import { watchProcessors } from './watch-processors.js';

export interface ChaosOptions {
  readonly minutes: number;
  /** Which calls are made, and which faults are caused in which order; when exactly, the machine has a say in. */
  readonly seed: number;
  /** Where the history goes, as JSON lines. */
  readonly historyFile: string;
}

export interface ChaosHooks {
  /** Told what is being done. */
  readonly onStep: (step: string) => void;
  /** Told of each fault when it is over, and how many calls have been made so far. */
  readonly onFault: (fault: FaultEvent, calls: number) => void;
  readonly onEnd: OnEnd;
}

const links = ['proxied', 'direct'] as const;
/** Of every call; shorter than the product's own, so that more calls meet it. A lease is three of them. */
const deadlineMs = 3_000;
const callsPerSecond = 15;
const meanGapMs = 1_500;
/** Without faults, before the first and after the last. */
const quietMs = 2_000;
const leadCount = 2_000;
/** Two leases and two sweeps, and as much again for a machine that is busy. */
const exactWithinMs = 2 * (6 * deadlineMs + 12_000);
/** The third organisation reaches its hard stop after this part of a run. */
const stopAfter = 0.5;
const shareOfThird = 2 / 7;

/**
 * Runs the whole service with servers of its own, makes calls and causes random faults for some minutes, then checks what
 * was answered against what was counted.
 * @throws Error when the service cannot be started; what a fault does to it is in the result
 */
export async function runChaos(options: ChaosOptions, hooks: ChaosHooks): Promise<ChaosResult> {
  hooks.onStep('starting Redis, MongoDB, two gateways and two workers');
  const cluster = await stoppedAtEnd(hooks.onEnd, Cluster.start({ gateways: links, settings }));
  const rooms = await openRooms(cluster, options, hooks);
  const history = await HistoryLog.begin(options.historyFile);
  hooks.onEnd(() => history.end());
  const stage = { cluster, harmedWorkers: new Set<number>() };

  const endMs = performance.now() + 60_000 * options.minutes;
  const leads = generateLeads({ seed: options.seed, count: leadCount, now: new Date() });
  const load = new ChaosLoad({
    random: seededRandom(options.seed),
    organisations: rooms.organisations,
    leads: leads.map(({ record }) => record),
    gateways: cluster.gateways,
    history,
    callsPerSecond,
  });
  hooks.onStep(`making ${callsPerSecond} calls a second for ${options.minutes} min, seed ${options.seed}`);
  hooks.onEnd(() => load.stop());
  load.start();
  const watch = watchProcessors(cluster.gateways, history);
  hooks.onEnd(async () => clearInterval(watch));
  await pause(quietMs);
  await causeFaults(chaosFaults(links.length), stage, {
    random: seededRandom(options.seed + 1),
    history,
    untilMs: endMs - quietMs,
    meanGapMs,
    onFault: (fault) => hooks.onFault(fault, history.events.length),
  });
  await pause(Math.max(quietMs, endMs - performance.now()));
  await load.stop();
  hooks.onStep('waiting until Redis and the ledger agree');
  return await judged({ history, rooms, stage, options });
}

const settings = {
  ...{ HOST: undefined, BASE_URL: undefined, DOCS_URL: undefined, KEY_BRAND: undefined },
  ...{ MAX_BODY_BYTES: undefined, LEGACY_ALIASES: undefined, RETENTION_DAYS: undefined },
  ...{ PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', LOG_LEVEL: 'warn', CLOCK_OFFSET_MS: '0' },
  ...{ REQUEST_TIMEOUT_MS: String(deadlineMs), WEBHOOK_TIMEOUT_MS: String(deadlineMs) },
  ...{ BODY_TIMEOUT_MS: undefined, WORKERS: '2', KEY_PEPPER: chaosPepper },
};

async function openRooms(
  cluster: Cluster,
  { minutes }: ChaosOptions,
  { onEnd }: ChaosHooks,
): Promise<TruthRooms> {
  const redis = new Redis(cluster.redisUrl, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined); // what the faults cause
  onEnd(async () => redis.disconnect());
  const mongo = await connectMongo(cluster.mongoUrl, { name: 'leadscore-chaos' });
  onEnd(() => mongo.client.close());
  const records = 60 * minutes * callsPerSecond * meanRecords;
  const organisations = await createOrganisations(mongo.database, records * shareOfThird * stopAfter);
  return { redis, database: mongo.database, organisations };
}

async function judged(run: {
  readonly history: HistoryLog;
  readonly rooms: TruthRooms;
  readonly stage: ChaosStage;
  readonly options: ChaosOptions;
}): Promise<ChaosResult> {
  const { history, rooms, stage, options } = run;
  const { counters, tookMs } = await quietCounters(rooms, { withinMs: exactWithinMs });
  const { rows, strayPredictions } = await readLedger(rooms.database);
  for (const event of [...counters, ...rows]) history.add(event);
  history.add({
    kind: 'run',
    seed: options.seed,
    deadlineMs,
    strayPredictions,
    unexpectedDeaths: await unexpectedDeaths(stage),
  });
  await history.end();
  const { events } = history;
  const [problems, late] = [checkHistory(events), notJudged(events)];
  return summarize(events, { ...options, exactMs: tookMs, problems, notJudged: late });
}
