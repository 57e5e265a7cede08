import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { tellFigures } from '../support/fault-figures.js';
import { AnswerClock, type CallOutcome, recordsAnswered, statuses, timed } from '../support/fault-load.js';
import { slowBundle } from '../support/fault-models.js';
import { refused, scored } from '../support/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service.js';
import { type TestWorkspace, workspace } from '../support/workspace.js';

const deadlineMs = 3_000;
/** Each takes a worker some 80 ms of a free core, so two of them do a quarter of these. */
const callsPerSecond = 100;
const seconds = 5;
const recordsOfACall = 2;

describe('more calls than the workers can do', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    const timeout = String(deadlineMs);
    service = await runningService({
      gateways: 1,
      environment: { REQUEST_TIMEOUT_MS: timeout, WEBHOOK_TIMEOUT_MS: timeout },
    });
    own = await workspace(service, { plan: 'enterprise', limit: 1e6, bundle: slowBundle() });
    await eventually(async () => scored(await call()), 20_000);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  const call = () => own.score(Array.from({ length: recordsOfACall }, () => ({ company_size: 120 })));

  it('are refused at once with when to try again, where their turn would not come in time; others are scored', async function () {
    this.timeout(60_000);
    const before = await own.ledgerSum();
    const clock = new AnswerClock(deadlineMs);
    const calls: Promise<CallOutcome>[] = [];
    const beganMs = performance.now();
    while (calls.length < callsPerSecond * seconds) {
      const due = Math.min(
        callsPerSecond * seconds,
        ((performance.now() - beganMs) / 1_000) * callsPerSecond,
      );
      while (calls.length < due) calls.push(timed(call));
      await pause(10);
    }
    const outcomes = await Promise.all(calls);
    clock.expectInTime(outcomes);
    const failed = outcomes.filter(({ reply }) => reply?.status !== 200);
    const late = failed.filter(({ tookMs }) => tookMs > deadlineMs / 2);
    tellFigures({
      fault: 'more calls than the workers can do',
      answers: statuses(outcomes),
      refused_late: late.length,
    });
    for (const { reply } of failed) {
      if (reply === undefined) continue;
      expect(refused(reply, '500 internal_error').error.message).to.be.a('string');
      expect(Number(reply.headers.get('retry-after'))).to.be.at.least(1);
    }
    expect(failed.length, 'calls that were too many').to.be.above(callsPerSecond);
    expect(late.length, 'that waited for nothing').to.be.below(failed.length / 2);
    const answered = recordsAnswered(outcomes, recordsOfACall);
    expect(answered, 'records that were scored all the same').to.be.above(recordsOfACall * 10);
    await eventually(async () => expect(await own.redisUsage()).to.include({ leased: 0 }), 5_000);
    expect(await own.ledgerSum()).to.equal(before + answered);
  });
});
