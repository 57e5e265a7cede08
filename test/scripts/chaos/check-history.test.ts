import { expect } from 'chai';
import { checkHistory, notJudged } from '../../../scripts/chaos/check-history.js';
import type {
  CallEvent,
  CounterEvent,
  FaultEvent,
  HistoryEvent,
  LedgerEvent,
  RunEvent,
  StandstillEvent,
} from '../../../scripts/chaos/history.js';

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
const standstill = (fields: Partial<StandstillEvent> = {}): StandstillEvent => ({
  kind: 'standstill',
  atMs: 10_500,
  lengthMs: 1_000,
  ...fields,
});
const lost = call({ outcome: 'lost' });
const killed = fault({ killedGateway: 0 });
const nothingCounted = [counter({ used: 0 }), run()];

const holds: Readonly<Record<string, readonly HistoryEvent[]>> = {
  'a 200 with its row': [call(), row(), counter(), run()],
  'a 500 without one': [call({ outcome: 500 }), ...nothingCounted],
  'a lost call with a row, its gateway killed': [lost, killed, row(), counter(), run()],
  'a lost call without one, its gateway killed': [lost, killed, ...nothingCounted],
  'a caller who hung up, counted or not': [
    ...[call({ outcome: 'hung-up' }), call({ requestId: 'r2', group: 'g2', outcome: 'hung-up' })],
    ...[row(), counter(), run()],
  ],
  'a replay': [call(), call({ requestId: 'r2', isReplay: true }), row(), counter(), run()],
  'a retry of a lost call that had been counted': [
    ...[lost, killed, call({ requestId: 'r2', isReplay: true })],
    ...[row(), counter(), run()],
  ],
  'a call that reads': [call({ route: 'usage', records: 0 }), ...nothingCounted],
  'predictions of live keys only': [
    ...[call({ bucket: 'test' }), row({ bucket: 'test', predictions: 0 })],
    ...[counter({ bucket: 'test' }), run()],
  ],
  'a late answer of a gateway that was frozen for as long': [
    ...[call({ outcome: 500, tookMs: 5_000 }), fault({ frozenGateway: 0 })],
    ...nothingCounted,
  ],
  'a late answer while a process waited for a processor': [
    ...[call({ outcome: 500, tookMs: 4_400 }), standstill(), ...nothingCounted],
  ],
};

const broken: Readonly<Record<string, readonly [events: readonly HistoryEvent[], problem: RegExp]>> = {
  'a 200 without a row': [[call(), ...nothingCounted], /0 rows in the ledger, which should be 1 to 1/],
  'a 200 with two rows': [[call(), row(), row({ callId: 'c2' }), counter({ used: 6 }), run()], /2 rows/],
  'a row with another count': [
    [call(), row({ records: 2, predictions: 2 }), counter({ used: 2 }), run()],
    /a row of 2/,
  ],
  'a row in the other bucket': [[call({ bucket: 'test' }), row(), counter(), run()], /a row of 3 live/],
  'a 500 with a row': [[call({ outcome: 500 }), row(), counter(), run()], /1 rows in the ledger, .* 0 to 0/],
  'a 429 with a row': [[call({ outcome: 429 }), row(), counter(), run()], /1 rows in the ledger, .* 0 to 0/],
  'a call that reads with a row': [
    [call({ route: 'usage', records: 0 }), row({ records: 0, predictions: 0 }), counter({ used: 0 }), run()],
    /1 rows in the ledger, .* 0 to 0/,
  ],
  'a row that nobody asked for': [[row(), counter(), run()], /c1 is in the ledger and was never called/],
  'a retry that was counted again': [
    [
      call(),
      call({ requestId: 'r2' }),
      row(),
      row({ callId: 'c2', requestId: 'r2' }),
      counter({ used: 6 }),
      run(),
    ],
    /2 rows/,
  ],
  'a replay with other scores': [
    [call(), call({ requestId: 'r2', scores: 'others' }), row(), counter(), run()],
    /different scores/,
  ],
  'a 200 that is not whole': [
    [call({ problem: '2 scores for 3 records' }), row(), counter(), run()],
    /a 200 with 2 scores/,
  ],
  'a lost connection of a gateway that ran': [[lost, ...nothingCounted], /its gateway was not killed/],
  'a lost connection of another gateway than the killed one': [
    [lost, fault({ killedGateway: 1 }), ...nothingCounted],
    /its gateway was not killed/,
  ],
  'a late answer': [[call({ tookMs: 3_501 }), row(), counter(), run()], /200 after 3501 ms/],
  'a late answer while another gateway stood still': [
    [call({ tookMs: 4_400 }), standstill({ gateway: 1 }), row(), counter(), run()],
    /200 after 4400 ms/,
  ],
  'an answer that is late by more than what kept its gateway from running': [
    [call({ tookMs: 6_901 }), standstill({ lengthMs: 3_400 }), row(), counter(), run()],
    /200 after 6901 ms/,
  ],
  'usage above the ledger': [[call(), row(), counter({ used: 4 }), run()], /Redis counts 4, the ledger 3/],
  'records that are still held': [[call(), row(), counter({ leased: 2 }), run()], /2 records are still held/],
  'a hard stop that was passed': [
    [call(), row(), counter({ hardStop: 2 }), run()],
    /above the hard stop of 2/,
  ],
  'a prediction too few': [[call(), row({ predictions: 2 }), counter(), run()], /2 predictions of 3/],
  'predictions of a test key': [
    [call({ bucket: 'test' }), row({ bucket: 'test' }), counter({ bucket: 'test' }), run()],
    /3 predictions of 0/,
  ],
  'predictions without a call': [[run({ strayPredictions: 2 })], /2 predictions of calls that are not/],
  'a process that went by itself': [
    [run({ unexpectedDeaths: ['a gateway: exit code 1'] })],
    /ended by itself/,
  ],
  'a part that could not be started again': [
    [fault({ failure: 'the gateway ended before it was ready' }), run()],
    /a fault: the gateway ended/,
  ],
};

describe('the check of a chaos run', () => {
  for (const [what, events] of Object.entries(holds))
    it(`finds nothing wrong with ${what}`, () => {
      expect(checkHistory(events)).to.deep.equal([]);
      expect(notJudged(events)).to.deep.equal([]);
    });
  for (const [what, [events, problem]] of Object.entries(broken))
    it(`finds ${what}`, () => {
      const problems = checkHistory(events);
      expect(problems).to.have.length(1);
      expect(problems[0]).to.match(problem);
      expect(notJudged(events)).to.deep.equal([]);
    });

  it('does not judge an answer that came too late while its gateway was kept from running for half of the time', () => {
    const late = [call({ tookMs: 7_002 }), standstill({ lengthMs: 3_501 })];
    const events = [...late, row(), counter(), run()];
    expect(checkHistory(events)).to.deep.equal([]);
    expect(notJudged(events)).to.have.length(1);
    expect(notJudged(events)[0]).to.match(/200 after 7002 ms/);
  });
  it('judges the count of such a call all the same', () => {
    const late = [call({ tookMs: 8_000 }), standstill({ lengthMs: 6_000 })];
    const problems = checkHistory([...late, ...nothingCounted]);
    expect(problems).to.have.length(1);
    expect(problems[0]).to.match(/0 rows in the ledger, which should be 1 to 1/);
  });
});
