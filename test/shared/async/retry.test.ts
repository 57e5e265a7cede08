import { expect } from 'chai';
import { type RetryOptions, retry } from '../../../shared/async/retry.js';
import { bestMs, durationMs } from '../../support/beats.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';

describe('retry', () => {
  const always: RetryOptions = { firstDelayMs: 1, maxDelayMs: 4, isRetryable: () => true };

  /** Work that fails a number of times with `failure 1`, `failure 2` and so on, and then gives how often it ran. */
  function failing(failures: number) {
    let attempts = 0;
    const work = async () => {
      attempts += 1;
      if (attempts <= failures) throw new Error(`failure ${attempts}`);
      return attempts;
    };
    return { work, attempts: () => attempts };
  }

  it('runs work once that succeeds', async () => {
    expect(await retry(failing(0).work, always)).to.equal(1);
  });

  it('runs work again until it succeeds, and reports each failure', async () => {
    const reported: unknown[] = [];
    const onRetry = (error: unknown) => reported.push((error as Error).message);
    expect(await retry(failing(3).work, { ...always, onRetry })).to.equal(4);
    expect(reported).to.deep.equal(['failure 1', 'failure 2', 'failure 3']);
  });

  it('throws an error at once that is not retryable', async () => {
    const { work, attempts } = failing(9);
    const isRetryable = (error: unknown) => (error as Error).message !== 'failure 2';
    expect(await failureOf(retry(work, { ...always, isRetryable }))).to.have.property('message', 'failure 2');
    expect(attempts()).to.equal(2);
  });

  it('doubles the delay up to its maximum', async () => {
    // A busy machine lengthens some attempts.
    await eventually(async () => {
      const startMs = performance.now();
      await retry(failing(4).work, { ...always, firstDelayMs: 20, maxDelayMs: 40 });
      expect(performance.now() - startMs).to.be.within(20 + 40 + 40 + 40 - 5, 20 + 40 + 80 + 160);
    });
  });

  it('begins no attempt after the time limit, and throws the last error', async () => {
    await eventually(async () => {
      const { work, attempts } = failing(9);
      const limited = retry(work, { ...always, firstDelayMs: 50, maxDelayMs: 1_000, limitMs: 140 });
      expect(await failureOf(limited)).to.have.property('message', 'failure 2');
      expect(attempts()).to.equal(2);
    });
  });

  it('ends a wait when the signal is aborted, and throws the last error', async () => {
    const abort = async () => {
      const { work, attempts } = failing(9);
      const signal = AbortSignal.timeout(20);
      const aborted = retry(work, { ...always, firstDelayMs: 60_000, maxDelayMs: 60_000, signal });
      expect(await failureOf(aborted)).to.have.property('message', 'failure 1');
      expect(attempts()).to.equal(1);
    };
    expect(await bestMs(5_000, () => durationMs(abort))).to.be.below(5_000);
  });

  it('runs work once under a signal that is aborted already', async () => {
    const { work, attempts } = failing(9);
    const aborted = retry(work, { ...always, signal: AbortSignal.abort() });
    expect(await failureOf(aborted)).to.have.property('message', 'failure 1');
    expect(attempts()).to.equal(1);
  });
});
