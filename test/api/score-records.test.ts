import { expect } from 'chai';
import { CallReservation } from '../../api/admission/metering.js';
import type { ScoringCall } from '../../api/call/scoring-call.js';
import { CallerGone } from '../../api/request/read-body.js';
import { type ScoringDeps, scoreRecords } from '../../api/score-records.js';
import { allowanceOf } from '../../shared/contract/plans.js';
import { createLogger } from '../../shared/process/logger.js';
import { deadlineIn, emptyModel, scoredRows, scoringCall } from '../support/scoring/scoring-call.js';
import { organisationOf } from '../support/scoring/stored-documents.js';

const verdict = { state: 'passed', failing_gate: null, summary: 'It passes.' } as const;

type Step = 'reserve' | 'score' | 'record' | 'settle' | 'sum up';

/** Dependencies that note the steps of a call. The test ends each step. */
function heldSteps() {
  const begun: Step[] = [];
  const ends = new Map<Step, { readonly done: () => void; readonly fail: (error: Error) => void }>();
  const step = <Result>(name: Step, result: Result): Promise<Result> => {
    begun.push(name);
    return new Promise((resolve, reject) => {
      ends.set(name, { done: () => resolve(result), fail: reject });
    });
  };
  const usage = { used: 0, leased: 0 };
  const quota = { settle: () => step('settle', usage), release: async () => true };
  const callVoider = {
    begin: () => expect.fail('the call was voided'),
    invalidateScores: () => expect.fail('the scores were invalidated'),
    isFull: false,
  };
  const counter = { organisationId: 'org', bucket: 'live', month: '2026-02' } as const;
  const held = { counter, allowance: allowanceOf(organisationOf(), 'live'), usage };
  const reservationOf = (call: ScoringCall) =>
    new CallReservation(call, held, { quota, callVoider, logger: createLogger('silent', 'test') });
  const deps: ScoringDeps = {
    admission: { admit: async () => ({ organisation: organisationOf(), model: emptyModel, verdict }) },
    idempotencyKeys: {
      once: (_call, work) => work(),
      updateStoredReply: async (_call, _recorded, body) => ({ body, isReplay: false }),
    },
    metering: { reserve: (call) => step('reserve', reservationOf(call)) },
    dispatcher: { score: () => step('score', scoredRows([])) },
    recorder: { record: () => step('record', undefined) },
    fieldDays: { add: () => void begun.push('sum up') },
  };
  const end = async (name: Step, error?: Error): Promise<void> => {
    const ending = ends.get(name);
    if (ending === undefined) throw new Error(`${name} has not begun`);
    if (error === undefined) ending.done();
    else ending.fail(error);
    await nextIteration();
  };
  return { begun, end, deps };
}

const nextIteration = () => new Promise((resolve) => setImmediate(resolve));
const callOf = (lane: ScoringCall['lane']) => scoringCall({ lane, deadline: deadlineIn(3_600_000) });
const single = callOf('singles');
const batch = callOf('batches');

async function begin(call: ScoringCall, deps: ScoringDeps) {
  const reply = scoreRecords(call, () => 'the reply', deps).catch((error: unknown) => error);
  await nextIteration();
  return reply;
}

describe('scoreRecords', () => {
  it('reserves, scores, records, settles and sums up a batch, in this order', async () => {
    const { begun, end, deps } = heldSteps();
    const reply = begin(batch, deps);
    await nextIteration();
    for (const [index, name] of (['reserve', 'score', 'record', 'settle'] as const).entries()) {
      expect(begun).to.have.length(index + 1);
      await end(name);
    }
    expect(await reply).to.deep.equal({ body: 'the reply', isReplay: false });
    expect(begun).to.deep.equal(['reserve', 'score', 'record', 'settle', 'sum up']);
  });

  it('scores a single while it is reserved, and records it after both', async () => {
    const { begun, end, deps } = heldSteps();
    const reply = begin(single, deps);
    await nextIteration();
    expect(begun).to.have.members(['reserve', 'score']);
    await end('score');
    expect(begun).to.have.length(2);
    await end('reserve');
    await end('record');
    await end('settle');
    expect(await reply).to.deep.equal({ body: 'the reply', isReplay: false });
  });

  it('does not record a call whose caller hung up while it was scored', async () => {
    const { begun, end, deps } = heldSteps();
    let hasHungUp = false;
    const reply = begin({ ...batch, hasHungUp: () => hasHungUp }, deps);
    await nextIteration();
    await end('reserve');
    hasHungUp = true;
    await end('score');
    expect(await reply).to.be.instanceOf(CallerGone);
    expect(begun).to.deep.equal(['reserve', 'score']);
  });

  it('does not score a batch before it is reserved', async () => {
    const { begun, deps } = heldSteps();
    void begin(callOf('batches'), deps);
    await nextIteration();
    expect(begun).to.deep.equal(['reserve']);
  });

  it('refuses a single that cannot be reserved, whether its scoring failed or not, and records nothing', async () => {
    for (const failure of [undefined, new Error('refused record')]) {
      const { begun, end, deps } = heldSteps();
      const noRoom = new Error('past the stop');
      const reply = begin(single, deps);
      await nextIteration();
      await end('score', failure);
      await end('reserve', noRoom);
      expect(await reply).to.equal(noRoom);
      expect(begun).to.have.members(['reserve', 'score']);
    }
  });
});
