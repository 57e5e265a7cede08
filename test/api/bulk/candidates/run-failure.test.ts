import { expect } from 'chai';
import { afterFailure, RunFailure, VersionFailure } from '../../../../api/bulk/candidates/run-failure.js';
import { ApiError } from '../../../../shared/contract/errors.js';

const failure = (code?: string) =>
  new VersionFailure('2', new ApiError('internalError', 'no', code === undefined ? {} : { cause: { code } }));

/** The outcome of failures in a row: the delays before the next attempts, and the message that ends the run. */
function outcomeOf(errors: readonly unknown[]): readonly (number | string)[] {
  let failures = 0;
  return errors.map((error) => {
    const next = afterFailure(error, failures);
    if (next instanceof RunFailure) return next.message;
    failures = next.failures;
    return next.retryInMs;
  });
}

describe('a failed step of a candidate', () => {
  it('ends the run at the fifth failure of a version in a row', () => {
    const outcome = outcomeOf(Array.from({ length: 5 }, () => failure('scoring_failed')));
    expect(outcome.slice(0, 4)).to.deep.equal([1_000, 4_000, 16_000, 60_000]);
    expect(outcome[4]).to.include('could not score recorded leads 5 times in a row');
  });

  it('ends the run at the second answer that a version is not available', () => {
    const outcome = outcomeOf([failure('scoring_failed'), failure('model_unavailable')]);
    expect(outcome).to.have.length(2);
    expect(outcome[1]).to.match(/^Version "2" cannot be loaded/);
    expect(outcomeOf([failure('model_unavailable')])).to.deep.equal([1_000]);
  });

  it('never ends the run for a failure of MongoDB or Redis', () => {
    const outcome = outcomeOf(Array.from({ length: 50 }, () => new Error('not primary')));
    expect(new Set(outcome)).to.deep.equal(new Set([1_000]));
  });
});
