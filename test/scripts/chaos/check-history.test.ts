import { expect } from 'chai';
import { checkHistory, notJudged } from '../../../scripts/chaos/check/check-history.js';
import type {
  CallEvent,
  CounterEvent,
  FaultEvent,
  HistoryEvent,
  JobEvent,
  LedgerEvent,
  RunEvent,
  StallEvent,
} from '../../../scripts/chaos/check/history.js';

const call = (fields: Partial<CallEvent> = {}): CallEvent => ({
  kind: 'call',
  requestId: 'r1',
  group: 'g1',
  isIdempotent: false,
  organisation: 'org_1',
  bucket: 'live',
  route: 'batch',
  records: 3,
  gateway: 0,
  sentMs: 10_000,
  tookMs: 20,
  outcome: 200,
  isReplay: false,
  scores: 'same',
  ...fields,
});
const row = (fields: Partial<LedgerEvent> = {}): LedgerEvent => ({
  kind: 'ledger',
  callId: 'c1',
  requestId: 'r1',
  organisation: 'org_1',
  bucket: 'live',
  records: 3,
  predictions: 3,
  ...fields,
});
const counter = (fields: Partial<CounterEvent> = {}): CounterEvent => ({
  kind: 'counter',
  organisation: 'org_1',
  bucket: 'live',
  used: 3,
  leased: 0,
  hardStop: 100,
  ...fields,
});
const run = (fields: Partial<RunEvent> = {}): RunEvent => ({
  kind: 'run',
  seed: 1,
  deadlineMs: 3_000,
  strayPredictions: 0,
  unexpectedDeaths: [],
  ...fields,
});
const fault = (fields: Partial<FaultEvent> = {}): FaultEvent => ({
  kind: 'fault',
  name: 'a fault',
  beganMs: 9_000,
  endedMs: 11_000,
  ...fields,
});
const job = (fields: Partial<JobEvent> = {}): JobEvent => ({
  kind: 'job',
  jobId: 'job_1',
  organisation: 'org_1',
  state: 'completed',
  rows: 4,
  shownRows: 4,
  scored: 3,
  shownScored: 3,
  wrongSlices: 0,
  ...fields,
});
const rowOfJob = row({ requestId: 'job_1' });
const stall = (fields: Partial<StallEvent> = {}): StallEvent => ({
  kind: 'stall',
  atMs: 10_500,
  lengthMs: 1_000,
  ...fields,
});
const lost = call({ outcome: 'lost' });
const killed = fault({ killedGateway: 0 });
const nothingCounted = [counter({ used: 0 }), run()];

const correct: Readonly<Record<string, readonly HistoryEvent[]>> = {
  'a 200 with one row': [call(), row(), counter(), run()],
  'a 500 without a row': [call({ outcome: 500 }), ...nothingCounted],
  'a lost call with a row, its gateway killed': [lost, killed, row(), counter(), run()],
  'a lost call without a row, its gateway killed': [lost, killed, ...nothingCounted],
  'two calls whose callers hung up, one of them counted': [
    ...[call({ outcome: 'hung-up' }), call({ requestId: 'r2', group: 'g2', outcome: 'hung-up' })],
    ...[row(), counter(), run()],
  ],
  'a replay': [call(), call({ requestId: 'r2', isReplay: true }), row(), counter(), run()],
  'a replayed retry of a lost call with a row': [
    ...[lost, killed, call({ requestId: 'r2', isReplay: true })],
    ...[row(), counter(), run()],
  ],
  'a complete job whose scored rows are in the ledger': [job(), rowOfJob, counter(), run()],
  'a job that is paused for its quota with the rows that fitted': [
    job({ state: 'paused', pauseReason: 'quota_exceeded', rows: 9 }),
    ...[rowOfJob, counter(), run()],
  ],
  'a call that only reads': [call({ route: 'usage', records: 0 }), ...nothingCounted],
  'a call with a test key without predictions': [
    ...[call({ bucket: 'test' }), row({ bucket: 'test', predictions: 0 })],
    ...[counter({ bucket: 'test' }), run()],
  ],
  'a late answer of a gateway that was frozen for the delay': [
    ...[call({ outcome: 500, tookMs: 5_000 }), fault({ frozenGateway: 0 })],
    ...nothingCounted,
  ],
  'an answer that is late by the stall of a process': [
    ...[call({ outcome: 500, tookMs: 4_400 }), stall(), ...nothingCounted],
  ],
};

const broken: Readonly<Record<string, readonly [events: readonly HistoryEvent[], problem: RegExp]>> = {
  'a 200 without a row': [[call(), ...nothingCounted], /0 rows in the ledger instead of 1 to 1/],
  'a 200 with two rows': [[call(), row(), row({ callId: 'c2' }), counter({ used: 6 }), run()], /2 rows/],
  'a row with another count': [
    [call(), row({ records: 2, predictions: 2 }), counter({ used: 2 }), run()],
    /a row of 2/,
  ],
  'a row in the other bucket': [[call({ bucket: 'test' }), row(), counter(), run()], /a row of 3 live/],
  'a 500 with a row': [[call({ outcome: 500 }), row(), counter(), run()], /1 rows in the ledger instead of 0 to 0/],
  'a 429 with a row': [[call({ outcome: 429 }), row(), counter(), run()], /1 rows in the ledger instead of 0 to 0/],
  'a row of a call that only reads': [
    [call({ route: 'usage', records: 0 }), row({ records: 0, predictions: 0 }), counter({ used: 0 }), run()],
    /1 rows in the ledger instead of 0 to 0/,
  ],
  'a row without a call': [[row(), counter(), run()], /c1 is in the ledger without a call/],
  'a second row of a retry': [
    [call(), call({ requestId: 'r2' }), row(), row({ callId: 'c2', requestId: 'r2' }), counter({ used: 6 }), run()],
    /2 rows/,
  ],
  'a replay with other scores': [
    [call(), call({ requestId: 'r2', scores: 'others' }), row(), counter(), run()],
    /different scores/,
  ],
  'a 200 with too few scores': [
    [call({ problem: '2 scores for 3 records' }), row(), counter(), run()],
    /a 200 with 2 scores/,
  ],
  'a lost connection of a running gateway': [[lost, ...nothingCounted], /its gateway was not killed/],
  'a lost connection while another gateway was killed': [
    [lost, fault({ killedGateway: 1 }), ...nothingCounted],
    /its gateway was not killed/,
  ],
  'a late answer': [[call({ tookMs: 3_501 }), row(), counter(), run()], /200 after 3501 ms/],
  'a late answer while another gateway was stalled': [
    [call({ tookMs: 4_400 }), stall({ gateway: 1 }), row(), counter(), run()],
    /200 after 4400 ms/,
  ],
  'an answer that is later than the stall of its gateway allows': [
    [call({ tookMs: 6_901 }), stall({ lengthMs: 3_400 }), row(), counter(), run()],
    /200 after 6901 ms/,
  ],
  'usage above the sum of the ledger': [[call(), row(), counter({ used: 4 }), run()], /Redis counts 4, the ledger 3/],
  'records that are still reserved': [[call(), row(), counter({ leased: 2 }), run()], /2 records are still reserved/],
  'usage above the hard stop': [[call(), row(), counter({ hardStop: 2 }), run()], /above the hard stop of 2/],
  'a job that does not end': [
    [job({ state: 'running' }), rowOfJob, counter(), run()],
    /job_1: it is running at the end/,
  ],
  'a job that is paused because its scoring failed': [
    [job({ state: 'paused', pauseReason: 'scoring_failed' }), rowOfJob, counter(), run()],
    /paused \(scoring_failed\)/,
  ],
  'a slice of a job that is counted twice': [
    [job(), rowOfJob, row({ requestId: 'job_1', callId: 'c2' }), counter({ used: 6 }), run()],
    /the ledger counts 6 records, its slices 3/,
  ],
  'a scored slice that is not counted': [[job(), ...nothingCounted], /the ledger counts 0 records, its slices 3/],
  'results of a job in another order': [
    [job({ wrongRow: 2 }), rowOfJob, counter(), run()],
    /row 2 of its results is not row 2/,
  ],
  'results without a row of the file': [
    [job({ shownRows: 3 }), rowOfJob, counter(), run()],
    /its results have 3 rows of 4/,
  ],
  'a counted row that the results do not show': [
    [job({ shownScored: 2 }), rowOfJob, counter(), run()],
    /its results have 2 scores of 3/,
  ],
  'a missing slice': [[job({ wrongSlices: 1 }), rowOfJob, counter(), run()], /1 slices are misplaced/],
  'a missing prediction': [[call(), row({ predictions: 2 }), counter(), run()], /2 predictions of 3/],
  'predictions of a call with a test key': [
    [call({ bucket: 'test' }), row({ bucket: 'test' }), counter({ bucket: 'test' }), run()],
    /3 predictions of 0/,
  ],
  'predictions without a row in the ledger': [[run({ strayPredictions: 2 })], /2 predictions of calls that are not/],
  'a process that ended without a fault': [[run({ unexpectedDeaths: ['a gateway: exit code 1'] })], /unexpected end/],
  'a process that could not be started again': [
    [fault({ failure: 'the gateway ended before it was ready' }), run()],
    /a fault: the gateway ended/,
  ],
};

describe('checkHistory', () => {
  for (const [what, events] of Object.entries(correct))
    it(`reports no problem for ${what}`, () => {
      expect(checkHistory(events)).to.deep.equal([]);
      expect(notJudged(events)).to.deep.equal([]);
    });

  for (const [what, [events, problem]] of Object.entries(broken))
    it(`reports ${what}`, () => {
      const problems = checkHistory(events);
      expect(problems).to.have.length(1);
      expect(problems[0]).to.match(problem);
      expect(notJudged(events)).to.deep.equal([]);
    });

  it('lists a late answer as not judged if its gateway was stalled for half of the time', () => {
    const late = [call({ tookMs: 7_002 }), stall({ lengthMs: 3_501 })];
    const events = [...late, row(), counter(), run()];
    expect(checkHistory(events)).to.deep.equal([]);
    expect(notJudged(events)).to.have.length(1);
    expect(notJudged(events)[0]).to.match(/200 after 7002 ms/);
  });

  it('still reports the missing row of a call whose gateway was stalled', () => {
    const late = [call({ tookMs: 8_000 }), stall({ lengthMs: 6_000 })];
    const problems = checkHistory([...late, ...nothingCounted]);
    expect(problems).to.have.length(1);
    expect(problems[0]).to.match(/0 rows in the ledger instead of 1 to 1/);
  });
});
