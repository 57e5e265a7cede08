import { setTimeout as pause } from 'node:timers/promises';
import { createLogger } from '../../shared/process/logger.js';
import { connectRedis } from '../../shared/redis/connect.js';
import { connectMongo } from '../../shared/store/connection/connect.js';
import { generateLeads } from '../leads/lead-generator.js';
import { seededRandom } from '../leads/seeded-random.js';
import { Cluster } from '../servers/cluster.js';
import { type OnEnd, stoppedAtEnd } from '../servers/run-to-end.js';
import { ownSettings } from '../servers/service-process.js';
import { type ChaosResult, summarize } from './chaos-report.js';
import { checkHistory, notJudged } from './check/check-history.js';
import { type CountsDeps, ledgerSum, readLedger, settledCounters, unexpectedDeaths } from './check/final-counts.js';
import type { FaultEvent } from './check/history.js';
import { HistoryLog } from './check/history-log.js';
import { readJobs } from './check/read-jobs.js';
import { watchProcessors } from './check/watch-processors.js';
import { causeFaults } from './faults/cause-faults.js';
import type { ChaosStage } from './faults/fault.js';
import { ChaosJobs } from './load/chaos-jobs.js';
import { ChaosLoad } from './load/chaos-load.js';
import { type ChaosOrganisation, chaosPepper, createOrganisations } from './load/organisations.js';
import { meanRecords } from './load/plan-call.js';

export interface ChaosOptions {
  readonly minutes: number;
  /** Determines the calls, and the faults and their order. Their exact times depend on the machine. */
  readonly seed: number;
  /** Runs on a Redis Cluster of three masters, with four partitions and a hot model. */
  readonly onRedisCluster: boolean;
  /** Target of the history, as JSON lines. */
  readonly historyFile: string;
}

export interface ChaosHooks {
  readonly onStep: (step: string) => void;
  /** Called at the end of each fault. */
  readonly onFault: (fault: FaultEvent) => void;
  readonly onEnd: OnEnd;
}

const partitions = 4;
/** A slice that failed several times is tried again after a minute. */
const jobsWithinMs = 150_000;
/** Deadline of every call. It is below the default so that more calls reach it. A lease lasts three deadlines. */
const deadlineMs = 3_000;
const callsPerSecond = 15;
const meanGapMs = 1_500;
/** Time without faults before the first and after the last. */
const quietMs = 2_000;
const leadCount = 2_000;
/** Two leases and two sweeps, doubled for a busy machine. */
const exactWithinMs = 2 * (6 * deadlineMs + 12_000);
/** The third organisation reaches its hard stop after this share of a run, unless faults refuse many calls. */
const stopAfter = 0.35;
/** Then the calls go on for so long at most. */
const stopWithinMs = 60_000;
/** Share of the stop from which on larger calls are refused. */
const nearStop = 0.95;
const shareOfThird = 2 / 7;

/**
 * Runs the whole service on its own servers under calls and random faults, then compares the answers with the counts.
 * @throws Error if the service cannot be started; damage by faults is part of the result
 */
export async function runChaos(options: ChaosOptions, hooks: ChaosHooks): Promise<ChaosResult> {
  hooks.onStep('starting Redis, MongoDB, two gateways, a worker pool and a runner of bulk jobs');
  const { onRedisCluster } = options;
  const gateways = [onRedisCluster ? 'direct' : 'proxied', 'direct'] as const;
  const lanes = { LANES: onRedisCluster ? String(partitions) : undefined };
  const ofRun = { gateways, runners: ['direct'], settings: { ...settings, ...lanes }, onRedisCluster } as const;
  const starting = Cluster.start(ofRun);
  const cluster = await stoppedAtEnd(hooks.onEnd, starting);
  const counts = await openCounts(cluster, options, hooks);
  const history = await HistoryLog.begin(options.historyFile);
  hooks.onEnd(() => history.end());
  const stage = { cluster, harmedWorkers: new Set<number>() };

  const endMs = performance.now() + 60_000 * options.minutes;
  const leads = generateLeads({ seed: options.seed, count: leadCount, now: new Date() });
  const [busy, , limited] = counts.organisations;
  if (busy === undefined || limited === undefined) throw new Error('a run needs three organisations');
  const load = new ChaosLoad({
    random: seededRandom(options.seed),
    organisations: counts.organisations,
    leads: leads.map(({ record }) => record),
    gateways: cluster.gateways,
    history,
    callsPerSecond,
    ...(onRedisCluster && { hot: { organisation: busy, random: seededRandom(options.seed + 3) } }),
  });
  hooks.onStep(`sending ${callsPerSecond} calls a second for ${options.minutes} min, seed ${options.seed}`);
  hooks.onEnd(() => load.stop());
  load.start();
  const jobs = new ChaosJobs({
    ...{ database: counts.database, random: seededRandom(options.seed + 2), busy, limited },
    leads: leads.map(({ record }) => record),
  });
  hooks.onEnd(() => jobs.stop());
  jobs.start();
  const watch = watchProcessors(cluster.gateways, history);
  hooks.onEnd(async () => clearInterval(watch));
  await pause(quietMs);
  await causeFaults(stage, {
    random: seededRandom(options.seed + 1),
    history,
    untilMs: endMs - quietMs,
    meanGapMs,
    onFault: hooks.onFault,
  });
  await pause(Math.max(quietMs, endMs - performance.now()));
  await reachStop(counts, limited);
  await load.stop();
  clearInterval(watch); // a note after the end of the history would fail
  await jobs.stop();
  hooks.onStep('waiting until the bulk jobs have ended');
  await jobs.settled(jobsWithinMs);
  hooks.onStep('waiting until Redis equals the ledger');
  return await judge({ history, counts, stage, options, jobs });
}

/** Waits while calls go on and an organisation is far from its hard stop. */
async function reachStop(counts: CountsDeps, { id, hardStops }: ChaosOrganisation): Promise<void> {
  const untilMs = performance.now() + stopWithinMs;
  const isFar = async () => (await ledgerSum(counts, { organisation: id, bucket: 'live' })) < nearStop * hardStops.live;
  while (performance.now() < untilMs && (await isFar())) await pause(500);
}

const settings = {
  ...ownSettings(chaosPepper),
  ...{ REQUEST_TIMEOUT_MS: String(deadlineMs), WEBHOOK_TIMEOUT_MS: String(deadlineMs) },
};

async function openCounts(cluster: Cluster, { minutes }: ChaosOptions, { onEnd }: ChaosHooks): Promise<CountsDeps> {
  const logger = createLogger('silent', 'chaos');
  const redis = connectRedis({ url: cluster.redisUrl, name: 'leadscore-chaos', kind: 'commands', logger });
  onEnd(async () => redis.disconnect());
  const mongo = await connectMongo(cluster.mongoUrl, { name: 'leadscore-chaos' });
  onEnd(() => mongo.client.close());
  const records = 60 * minutes * callsPerSecond * meanRecords;
  const organisations = await createOrganisations(mongo.database, records * shareOfThird * stopAfter);
  return { redis, database: mongo.database, organisations };
}

async function judge(run: {
  readonly history: HistoryLog;
  readonly counts: CountsDeps;
  readonly stage: ChaosStage;
  readonly options: ChaosOptions;
  readonly jobs: ChaosJobs;
}): Promise<ChaosResult> {
  const { history, counts, stage, options, jobs } = run;
  const { counters, tookMs } = await settledCounters(counts, { withinMs: exactWithinMs });
  const { rows, strayPredictions } = await readLedger(counts.database);
  const ofJobs = await readJobs(counts.database, jobs.sent);
  for (const event of [...counters, ...rows, ...ofJobs]) history.add(event);
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
