/**
 * Times in ms that decide how soon the service notices a fault, repairs it or stops. They are in one file so that
 * tests can shorten all of them. Tests never shorten the pool's hang limit: it would kill healthy workers of a busy
 * machine. `test/shared/config/timings.test.ts` checks how they relate to each other and to deadlines.
 */
export interface Timings {
  readonly drain: {
    /** A stopping gateway accepts calls for this long: balancers check readiness once a second. */
    readonly graceMs: number;
    /** Without a connection for this long, a gateway has no balancer and stops without the grace. */
    readonly quietMs: number;
  };
  readonly redis: {
    readonly pingEveryMs: number;
    /** Without a reply for this long, Redis counts as away and `/readyz` fails. */
    readonly maxSilenceMs: number;
    /** A reply that is overdue by this much is no longer awaited on the same connection. */
    readonly minPatienceMs: number;
  };
  readonly upkeep: {
    /** A lease is released within five seconds of its end; a sweep takes some of that. */
    readonly sweepEveryMs: number;
    /** A pool restores schedules that Redis has lost this often. */
    readonly scheduleCheckMs: number;
  };
  readonly daySums: {
    /**
     * Calls by day, and the sums of how fields were read, are written this often. A process that is killed loses what
     * it has not written.
     */
    readonly writeEveryMs: number;
  };
  readonly refusedCalls: {
    /** Refused calls are added to the lists of the console this often. */
    readonly writeEveryMs: number;
  };
}

export const productionTimings: Timings = {
  drain: { graceMs: 2_000, quietMs: 10_000 },
  redis: { pingEveryMs: 1_000, maxSilenceMs: 2_500, minPatienceMs: 4_000 },
  upkeep: { sweepEveryMs: 4_000, scheduleCheckMs: 5_000 },
  daySums: { writeEveryMs: 60_000 },
  refusedCalls: { writeEveryMs: 1_000 },
};

/**
 * The shortest times of tests. On a busy machine a healthy process may be without a CPU for more than a second. Ten
 * pings a second of each connection took half of the processor time of an idle service.
 */
const minTimings: Timings = {
  drain: { graceMs: 100, quietMs: 500 },
  redis: { pingEveryMs: 500, maxSilenceMs: 1_250, minPatienceMs: 2_000 },
  upkeep: { sweepEveryMs: 1_000, scheduleCheckMs: 500 },
  daySums: { writeEveryMs: 1_000 },
  refusedCalls: { writeEveryMs: 200 },
};

/** The production times for 100, otherwise this percentage of them, but never less than the shortest times of tests. */
export function timingsAt(percent: number): Timings {
  if (percent === 100) return productionTimings;
  return {
    drain: scaled(productionTimings.drain, minTimings.drain, percent),
    redis: scaled(productionTimings.redis, minTimings.redis, percent),
    upkeep: scaled(productionTimings.upkeep, minTimings.upkeep, percent),
    daySums: scaled(productionTimings.daySums, minTimings.daySums, percent),
    refusedCalls: scaled(productionTimings.refusedCalls, minTimings.refusedCalls, percent),
  };
}

function scaled<Times extends { readonly [name in keyof Times]: number }>(
  production: Times,
  min: Times,
  percent: number,
): Times {
  const entries = Object.entries<number>(production).map(([name, ms]): [string, number] => [
    name,
    Math.max(min[name as keyof Times], (ms * percent) / 100),
  ]);
  return Object.fromEntries(entries) as Times;
}
