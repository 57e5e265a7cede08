import type {
  CallEvent,
  CounterEvent,
  FaultEvent,
  HistoryEvent,
  LedgerEvent,
  RunEvent,
  StandstillEvent,
} from './history.js';

import { forgivenMs } from './watch-processors.js';

/** Half a second: what an answer may come after its deadline. */
const graceMs = 500;
/** A killed gateway's connections end within this long of it. */
const killSlackMs = 1_000;

/**
 * Checks a history against what the service promises, whatever is done to it:
 * 1. a call that was answered with 200 has exactly one row in the ledger, with its count, and so have all attempts under
 *    one Idempotency-Key together;
 * 2. nothing else has one, but a call whose connection was lost may have one;
 * 3. each call is answered within its deadline and half a second, unless its gateway was killed, or frozen for as long, or
 *    the machine kept it from running (`forgivenMs`; for most of the time: see `notJudged`);
 * 4. usage never passes the hard stop;
 * 5. at the end Redis counts what the ledger adds up to, and holds nothing;
 * 6. each counted live record has its prediction, and no other has;
 * 7. no process ends that was not told to, and each that was killed can be started again.
 * @returns what does not hold, in words; nothing when all does
 */
export function checkHistory(events: readonly HistoryEvent[]): string[] {
  const ledger = ofKind(events, 'ledger');
  const runs = ofKind(events, 'run');
  return [
    ...checkCounts(ofKind(events, 'call'), ledger),
    ...runs.flatMap((run) => checkAnswers(events, run)),
    ...checkCounters(ofKind(events, 'counter'), ledger),
    ...ledger.flatMap(checkPredictions),
    ...ofKind(events, 'fault').flatMap(checkFault),
    ...runs.flatMap(checkEnd),
  ];
}

/**
 * The answers of a history that came late, or were given up by a gateway that was told to stop, while the machine kept those
 * who wait for them, or their gateway, from running for half of the time or more: whether they would have come in time nobody
 * can tell.
 * @returns each in words
 */
export const notJudged = (events: readonly HistoryEvent[]): string[] =>
  ofKind(events, 'run').flatMap((run) =>
    missedAnswers(events, run)
      .filter(({ isStarved }) => isStarved)
      .map(({ text }) => text),
  );

type EventOf<Kind extends HistoryEvent['kind']> = Extract<HistoryEvent, { kind: Kind }>;

const ofKind = <Kind extends HistoryEvent['kind']>(
  events: readonly HistoryEvent[],
  kind: Kind,
): EventOf<Kind>[] => events.filter((event): event is EventOf<Kind> => event.kind === kind);

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function checkCounts(calls: readonly CallEvent[], ledger: readonly LedgerEvent[]): string[] {
  const rows = grouped(ledger, (row) => row.requestId);
  const groups = grouped(calls, (call) => call.group);
  const known = new Set(calls.map((call) => call.requestId));
  return [
    ...[...groups.values()].flatMap((attempts) => checkGroup(attempts, rows)),
    ...ledger
      .filter((row) => !known.has(row.requestId))
      .map((row) => `${row.callId} is in the ledger and was never called`),
  ];
}

/** All attempts at one call: one row when any was answered with 200, none when not, one at most when any was lost. */
function checkGroup(
  attempts: readonly CallEvent[],
  rows: ReadonlyMap<string, readonly LedgerEvent[]>,
): string[] {
  const [first] = attempts;
  if (first === undefined) return [];
  const counted = attempts.flatMap((attempt) => rows.get(attempt.requestId) ?? []);
  const answered = attempts.filter(({ outcome }) => outcome === 200);
  const isRead = first.records === 0;
  const mayCount = !isRead && attempts.some(({ outcome }) => outcome === 'lost' || outcome === 'hung-up');
  const least = !isRead && answered.length > 0 ? 1 : 0;
  const most = mayCount ? 1 : least;
  const problems = attempts.flatMap(({ outcome, problem }) =>
    outcome === 200 && problem !== undefined ? `a 200 with ${problem}` : [],
  );
  if (counted.length < least || counted.length > most)
    problems.push(`${counted.length} rows in the ledger, which should be ${least} to ${most}`);
  if (counted.some((row) => row.records !== first.records || row.bucket !== first.bucket))
    problems.push(`a row of ${counted.map((row) => `${row.records} ${row.bucket}`).join(', ')} records`);
  if (new Set(answered.map(({ scores }) => scores)).size > 1)
    problems.push('different scores under one Idempotency-Key');
  return problems.map(
    (problem) => `${first.group} (${attempts.map(describeAttempt).join(', ')}): ${problem}`,
  );
}

const describeAttempt = ({ outcome, records, gateway, sentMs, isReplay }: CallEvent): string =>
  `${records} records, gateway ${gateway}, at ${Math.round(sentMs)} ms: ${outcome}${isReplay ? ' replayed' : ''}`;

const checkAnswers = (events: readonly HistoryEvent[], run: RunEvent): string[] =>
  missedAnswers(events, run)
    .filter(({ isStarved }) => !isStarved)
    .map(({ text }) => text);

/** An answer that came late or not at all. */
interface MissedAnswer {
  readonly text: string;
  /** Whether the machine kept a process that it takes from running for half of the time or more. */
  readonly isStarved: boolean;
}

function missedAnswers(events: readonly HistoryEvent[], { deadlineMs }: RunEvent): MissedAnswer[] {
  const standstills = ofKind(events, 'standstill');
  const faults = ofKind(events, 'fault');
  const kills = faults.filter(({ killedGateway }) => killedGateway !== undefined);
  return ofKind(events, 'call').flatMap((call) => {
    const stood = standstills.filter(({ gateway }) => gateway === undefined || gateway === call.gateway);
    const stoodStillMs = standstillMs(call, stood);
    const dueMs = deadlineMs + graceMs + standstillMs(call, freezesOf(call, faults));
    const missed = (what: string): MissedAnswer[] => [
      { text: `${describeAttempt(call)}${what}`, isStarved: stoodStillMs >= call.tookMs / 2 },
    ];
    if (call.outcome === 'lost')
      return wasKilled(call, kills) ? [] : missed(', though its gateway was not killed');
    if (typeof call.outcome !== 'number' || call.tookMs <= dueMs + forgivenMs(stoodStillMs, dueMs)) return [];
    return missed(` after ${Math.round(call.tookMs)} ms`);
  });
}

const wasKilled = ({ gateway, sentMs, tookMs }: CallEvent, kills: readonly FaultEvent[]): boolean =>
  kills.some(
    ({ killedGateway, beganMs, endedMs }) =>
      killedGateway === gateway && sentMs <= endedMs && sentMs + tookMs >= beganMs - killSlackMs,
  );

/** When the gateway of a call stood still. */
const freezesOf = ({ gateway }: CallEvent, faults: readonly FaultEvent[]) =>
  faults
    .filter(({ frozenGateway }) => frozenGateway === gateway)
    .map(({ beganMs, endedMs }) => ({ atMs: beganMs, lengthMs: endedMs - beganMs }));

/** For how long the process that made a call, or its gateway, stood still while it waited for the answer. */
const standstillMs = (
  { sentMs, tookMs }: CallEvent,
  standstills: readonly Pick<StandstillEvent, 'atMs' | 'lengthMs'>[],
): number =>
  standstills
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
    if (leased !== 0) problems.push(`${name}: ${leased} records are still held`);
    if (sum > hardStop) problems.push(`${name}: ${sum} records, above the hard stop of ${hardStop}`);
    return problems;
  });
}

function checkPredictions({ callId, bucket, records, predictions }: LedgerEvent): string[] {
  const expected = bucket === 'live' ? records : 0;
  return predictions === expected ? [] : [`${callId}: ${predictions} predictions of ${expected}`];
}

const checkFault = ({ name, failure }: FaultEvent): string[] =>
  failure === undefined ? [] : [`${name}: ${failure}`];

function checkEnd({ strayPredictions, unexpectedDeaths }: RunEvent): string[] {
  return [
    ...(strayPredictions > 0 ? [`${strayPredictions} predictions of calls that are not in the ledger`] : []),
    ...unexpectedDeaths.map((death) => `ended by itself: ${death}`),
  ];
}
