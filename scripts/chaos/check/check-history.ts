import { checkJob } from './check-jobs.js';
import type {
  CallEvent,
  CounterEvent,
  FaultEvent,
  HistoryEvent,
  JobEvent,
  LedgerEvent,
  RunEvent,
  StallEvent,
} from './history.js';
import { toleranceMs } from './watch-processors.js';

/** Allowed delay of an answer after its deadline. */
const graceMs = 500;
/** The connections of a killed gateway may end this long before the kill is noted. */
const killSlackMs = 1_000;

/**
 * Checks a history against the promises of the service:
 * 1. A call that was answered with 200 has exactly one row in the ledger, with its count. All attempts under
 *    one Idempotency-Key have one row together.
 * 2. No other call has a row, except that a call whose connection was lost may have one.
 * 3. Each call is answered within its deadline and half a second. Exceptions: its gateway was killed, or
 *    frozen for as long, or the machine stalled it (`toleranceMs`; for stalls of most of the time see
 *    `notJudged`).
 * 4. Usage never exceeds the hard stop.
 * 5. At the end the counters in Redis equal the sums of the ledger and hold no reservation.
 * 6. Each counted live record has its prediction, and no other record has one.
 * 7. No process ends without a fault, and each killed process can be started again.
 * 8. Each bulk job ends complete or paused for its quota. Each row of its file is in its results once, in order; the
 *    ledger counts its scored rows.
 * @returns broken promises in words
 */
export function checkHistory(events: readonly HistoryEvent[]): string[] {
  const ledger = ofKind(events, 'ledger');
  const runs = ofKind(events, 'run');
  return [
    ...checkCounts(ofKind(events, 'call'), ledger, ofKind(events, 'job')),
    ...runs.flatMap((run) => checkAnswers(events, run)),
    ...checkCounters(ofKind(events, 'counter'), ledger),
    ...ledger.flatMap(checkPredictions),
    ...ofKind(events, 'fault').flatMap(checkFault),
    ...runs.flatMap(checkEnd),
  ];
}

/**
 * Late and lost answers of calls whose gateway or caller was stalled for half of the time or more. A machine that busy
 * cannot prove whether the service kept its deadline.
 * @returns the answers in words
 */
export const notJudged = (events: readonly HistoryEvent[]): string[] =>
  ofKind(events, 'run').flatMap((run) =>
    missedAnswers(events, run)
      .filter(({ isStarved }) => isStarved)
      .map(({ text }) => text),
  );

type EventOf<Kind extends HistoryEvent['kind']> = Extract<HistoryEvent, { kind: Kind }>;

const ofKind = <Kind extends HistoryEvent['kind']>(events: readonly HistoryEvent[], kind: Kind): EventOf<Kind>[] =>
  events.filter((event): event is EventOf<Kind> => event.kind === kind);

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function checkCounts(calls: readonly CallEvent[], ledger: readonly LedgerEvent[], jobs: readonly JobEvent[]): string[] {
  const rows = grouped(ledger, (row) => row.requestId);
  const groups = grouped(calls, (call) => call.group);
  // The calls of a job have its id as their request id.
  const known = new Set([...calls.map((call) => call.requestId), ...jobs.map(({ jobId }) => jobId)]);
  return [
    ...[...groups.values()].flatMap((attempts) => checkGroup(attempts, rows)),
    ...jobs.flatMap((job) => checkJob(job, rows.get(job.jobId) ?? [])),
    ...ledger.filter((row) => !known.has(row.requestId)).map((row) => `${row.callId} is in the ledger without a call`),
  ];
}

/** The attempts at one call have one row if any got a 200, at most one if any was lost, otherwise none. */
function checkGroup(attempts: readonly CallEvent[], rows: ReadonlyMap<string, readonly LedgerEvent[]>): string[] {
  const [first] = attempts;
  if (first === undefined) return [];
  const counted = attempts.flatMap((attempt) => rows.get(attempt.requestId) ?? []);
  const answered = attempts.filter(({ outcome }) => outcome === 200);
  const isRead = first.records === 0;
  const mayCount = !isRead && attempts.some(({ outcome }) => outcome === 'lost' || outcome === 'hung-up');
  const min = !isRead && answered.length > 0 ? 1 : 0;
  const max = mayCount ? 1 : min;
  const problems = attempts.flatMap(({ outcome, problem }) =>
    outcome === 200 && problem !== undefined ? `a 200 with ${problem}` : [],
  );
  if (counted.length < min || counted.length > max)
    problems.push(`${counted.length} rows in the ledger instead of ${min} to ${max}`);
  if (counted.some((row) => row.records !== first.records || row.bucket !== first.bucket))
    problems.push(`a row of ${counted.map((row) => `${row.records} ${row.bucket}`).join(', ')} records`);
  if (new Set(answered.map(({ scores }) => scores)).size > 1)
    problems.push('different scores under one Idempotency-Key');
  return problems.map((problem) => `${first.group} (${attempts.map(describeAttempt).join(', ')}): ${problem}`);
}

const describeAttempt = ({ outcome, records, gateway, sentMs, isReplay }: CallEvent): string =>
  `${records} records, gateway ${gateway}, at ${Math.round(sentMs)} ms: ${outcome}${isReplay ? ' replayed' : ''}`;

const checkAnswers = (events: readonly HistoryEvent[], run: RunEvent): string[] =>
  missedAnswers(events, run)
    .filter(({ isStarved }) => !isStarved)
    .map(({ text }) => text);

/** A late or lost answer. */
interface MissedAnswer {
  readonly text: string;
  /** The gateway or the caller was stalled for half of the time or more. */
  readonly isStarved: boolean;
}

function missedAnswers(events: readonly HistoryEvent[], { deadlineMs }: RunEvent): MissedAnswer[] {
  const stalls = ofKind(events, 'stall');
  const faults = ofKind(events, 'fault');
  const kills = faults.filter(({ killedGateway }) => killedGateway !== undefined);
  return ofKind(events, 'call').flatMap((call) => {
    const involved = stalls.filter(({ gateway }) => gateway === undefined || gateway === call.gateway);
    const stalledMs = overlapMs(call, involved);
    const dueMs = deadlineMs + graceMs + overlapMs(call, freezesOf(call, faults));
    const missed = (suffix: string): MissedAnswer[] => [
      { text: `${describeAttempt(call)}${suffix}`, isStarved: stalledMs >= call.tookMs / 2 },
    ];
    if (call.outcome === 'lost') return wasKilled(call, kills) ? [] : missed(', though its gateway was not killed');
    if (typeof call.outcome !== 'number' || call.tookMs <= dueMs + toleranceMs(stalledMs, dueMs)) return [];
    return missed(` after ${Math.round(call.tookMs)} ms`);
  });
}

const wasKilled = ({ gateway, sentMs, tookMs }: CallEvent, kills: readonly FaultEvent[]): boolean =>
  kills.some(
    ({ killedGateway, beganMs, endedMs }) =>
      killedGateway === gateway && sentMs <= endedMs && sentMs + tookMs >= beganMs - killSlackMs,
  );

/** Freezes of the gateway of a call. */
const freezesOf = ({ gateway }: CallEvent, faults: readonly FaultEvent[]) =>
  faults
    .filter(({ frozenGateway }) => frozenGateway === gateway)
    .map(({ beganMs, endedMs }) => ({ atMs: beganMs, lengthMs: endedMs - beganMs }));

/** Total length of the stalls that overlap a call. */
const overlapMs = ({ sentMs, tookMs }: CallEvent, stalls: readonly Pick<StallEvent, 'atMs' | 'lengthMs'>[]): number =>
  stalls
    .filter(({ atMs, lengthMs }) => atMs <= sentMs + tookMs && atMs + lengthMs >= sentMs)
    .reduce((sum, { lengthMs }) => sum + lengthMs, 0);

function checkCounters(counters: readonly CounterEvent[], ledger: readonly LedgerEvent[]): string[] {
  return counters.flatMap(({ organisation, bucket, used, leased, hardStop }) => {
    const name = `${organisation} ${bucket}`;
    const sum = ledger
      .filter((row) => row.organisation === organisation && row.bucket === bucket)
      .reduce((total, row) => total + row.records, 0);
    const problems: string[] = [];
    if (used !== sum) problems.push(`${name}: Redis counts ${used}, the ledger ${sum}`);
    if (leased !== 0) problems.push(`${name}: ${leased} records are still reserved`);
    if (sum > hardStop) problems.push(`${name}: ${sum} records, above the hard stop of ${hardStop}`);
    return problems;
  });
}

function checkPredictions({ callId, bucket, records, predictions }: LedgerEvent): string[] {
  const expected = bucket === 'live' ? records : 0;
  return predictions === expected ? [] : [`${callId}: ${predictions} predictions of ${expected}`];
}

const checkFault = ({ name, failure }: FaultEvent): string[] => (failure === undefined ? [] : [`${name}: ${failure}`]);

function checkEnd({ strayPredictions, unexpectedDeaths }: RunEvent): string[] {
  return [
    ...(strayPredictions > 0 ? [`${strayPredictions} predictions of calls that are not in the ledger`] : []),
    ...unexpectedDeaths.map((death) => `unexpected end: ${death}`),
  ];
}
