import { percentile } from '../bench/report/percentile.js';
import { type AttackReport, overloaded } from './caller/messages.js';
import type { GatewayState, Stored } from './measure/stored.js';
import type { MeasuredCall } from './measure/victim.js';

/** A promise of the service that an attack broke. */
export interface BrokenPromise {
  readonly attack: string;
  /** docs/security.md describes them. */
  readonly promise: 'victim' | 'p99' | 'healthz' | 'workers' | 'redis' | 'mongodb' | 'answers';
  readonly text: string;
}

/** Promises that depend on the speed of the machine. */
export const timedPromises: ReadonlySet<BrokenPromise['promise']> = new Set(['p99', 'healthz']);

/** The measurements of one attack. Bytes are those of `Stored`. */
export interface AttackRow {
  readonly attack: string;
  readonly does: string;
  readonly victim_calls: number;
  readonly victim_p50_ms: number;
  readonly victim_p99_ms: number;
  /** In the quiet stretches before and after the attack. */
  readonly quiet_p99_ms: number;
  readonly victim_failures: readonly string[];
  /** Worst delay of the gateway's event loop. */
  readonly loop_delay_ms: number;
  readonly healthz_ms: number;
  readonly dead_workers: number;
  /** Records that were counted for the attacker. */
  readonly counted: { readonly live: number; readonly test: number };
  readonly redis_bytes: { readonly before: number; readonly after: number };
  readonly mongo_bytes: { readonly before: number; readonly after: number };
  /** Resident memory of the gateway. */
  readonly gateway_bytes: { readonly before: number; readonly after: number };
  readonly answers: AttackReport['answers'];
  /** The first body of each answer that the service must not give, by its name. */
  readonly unexpected: AttackReport['unexpected'];
  readonly failure: string | undefined;
  /** Share of the machine that other work used. */
  readonly others_share: number;
}

const maxVictimMs = 250;
const maxTimesQuiet = 3;
const maxHealthzMs = 250;
/** Above this share of other work on the machine, times are not judged. */
const maxOthersShare = 0.15;
/** Redis may hold this for each counted record of a live key: a crm_id of 255 characters, under both models. */
const redisBytesPerRecord = 1_500;
/** Counters of the organisation, and differences in the queues. */
const redisSlackBytes = 64 * 1024;
/** MongoDB may grow by this without a counted record: the 50,000 outcomes that the trial of an attacker may store. */
const mongoSlackBytes = 40 * 1024 * 1024;

/**
 * The most that the p99 of one organisation may be while another one loads the service, ms: the promise `p99` of
 * docs/security.md.
 * @param quietMs its p99 without that load
 */
export const maxVictimP99Ms = (quietMs: number): number => Math.max(maxVictimMs, maxTimesQuiet * quietMs);

export function rowOf(measured: {
  readonly attack: { readonly name: string; readonly does: string };
  readonly report: AttackReport;
  readonly before: Stored;
  readonly after: Stored;
  readonly gateway: { readonly before: GatewayState; readonly after: GatewayState };
  readonly othersShare: number;
  readonly calls: readonly MeasuredCall[];
  readonly probes: readonly MeasuredCall[];
  readonly quiet: readonly MeasuredCall[];
}): AttackRow {
  const { attack, report, before, after, gateway, calls, probes, quiet } = measured;
  return {
    attack: attack.name,
    does: attack.does,
    victim_calls: calls.length,
    victim_p50_ms: timeOf(calls, 50),
    victim_p99_ms: timeOf(calls, 99),
    quiet_p99_ms: timeOf(quiet, 99),
    victim_failures: [...calls, ...probes].flatMap(({ failure }) => failure ?? []),
    loop_delay_ms: Math.round(gateway.after.loopDelayMs),
    healthz_ms: timeOf(probes, 100),
    dead_workers: after.workerDeaths - before.workerDeaths,
    counted: after.counted,
    redis_bytes: { before: before.redisBytes, after: after.redisBytes },
    mongo_bytes: { before: before.mongoBytes, after: after.mongoBytes },
    gateway_bytes: { before: gateway.before.memoryBytes, after: gateway.after.memoryBytes },
    ...report,
    others_share: Number(measured.othersShare.toFixed(2)),
  };
}

/** One text for each kind of failure, with its count. */
export function failureTexts(failures: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const failure of failures) counts.set(failure, (counts.get(failure) ?? 0) + 1);
  return [...counts].map(([failure, count]) => `${count} calls failed: ${failure}`);
}

/** Finds the promises that an attack broke. */
export function judge(row: AttackRow): { readonly problems: BrokenPromise[]; readonly notJudged: BrokenPromise[] } {
  const problem = (promise: BrokenPromise['promise'], text: string): BrokenPromise => ({
    attack: row.attack,
    promise,
    text,
  });
  const maxMs = maxVictimP99Ms(row.quiet_p99_ms);
  const all = [
    ...failureTexts(row.victim_failures).map((text) => problem('victim', text)),
    ...(row.dead_workers > 0 ? [problem('workers', `${row.dead_workers} worker processes died`)] : []),
    ...storedTooMuch(row).map(([promise, text]) => problem(promise, text)),
    // An attacker whose own calls need more than the service can do in time is refused, and harms only itself.
    ...Object.entries(row.unexpected)
      .filter(([name]) => name !== overloaded)
      .map(([name, text]) => problem('answers', `${row.answers[name]} x ${name} ${text}`)),
    ...(row.failure === undefined ? [] : [problem('answers', `the attack failed: ${row.failure}`)]),
    ...(row.victim_p99_ms > maxMs
      ? [problem('p99', `p99 ${row.victim_p99_ms} ms, at most ${Math.round(maxMs)} ms`)]
      : []),
    ...(row.healthz_ms > maxHealthzMs ? [problem('healthz', `/healthz answered after ${row.healthz_ms} ms`)] : []),
  ];
  const isJudged = ({ promise }: BrokenPromise): boolean =>
    row.others_share < maxOthersShare || !timedPromises.has(promise);
  return { problems: all.filter(isJudged), notJudged: all.filter((each) => !isJudged(each)) };
}

function storedTooMuch({ counted, redis_bytes, mongo_bytes }: AttackRow): ['redis' | 'mongodb', string][] {
  const [redis, mongo] = [redis_bytes, mongo_bytes].map(({ before, after }) => after - before);
  const found: ['redis' | 'mongodb', string][] = [];
  if ((redis ?? 0) > redisSlackBytes + redisBytesPerRecord * counted.live)
    found.push(['redis', `Redis grew by ${redis} bytes for ${counted.live} counted records of the live key`]);
  if (counted.live + counted.test === 0 && (mongo ?? 0) > mongoSlackBytes)
    found.push(['mongodb', `MongoDB grew by ${mongo} bytes without a counted record`]);
  return found;
}

/** A percentile of the times, ms; 0 without calls. */
function timeOf(calls: readonly MeasuredCall[], percent: number): number {
  if (calls.length === 0) return 0;
  const times = calls.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
  return Number(percentile(times, percent).toFixed(1));
}
