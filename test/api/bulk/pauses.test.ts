import { expect } from 'chai';
import { retryAgain } from '../../../api/bulk/pauses.js';
import { ApiError } from '../../../shared/contract/errors.js';

describe('the pauses of bulk jobs', () => {
  const internal = (cause?: unknown) => new ApiError('internalError', 'It failed.', { cause });

  it('begin at once, with the message of the refusal, where another attempt cannot help', () => {
    const cases = [
      ['quotaExceeded', 'quota_exceeded'],
      ['workspaceSuspended', 'workspace_suspended'],
      ['invalidApiKey', 'workspace_suspended'],
      ['expiredReadOnly', 'expired_read_only'],
      ['apiDisabled', 'api_disabled'],
      ['deployBlocked', 'deploy_blocked'],
      ['modelNotFound', 'model_unavailable'],
    ] as const;
    for (const [name, reason] of cases)
      expect(retryAgain(new ApiError(name, 'The reason.'), 0)).to.deep.equal({ reason, message: 'The reason.' });
  });

  it('begin after the fifth failure in a row, with growing delays before', () => {
    const delays = [0, 1, 2, 3].map((earlier) => retryAgain(internal(), earlier));
    expect(delays).to.deep.equal([
      { count: 1, retryInMs: 1_000 },
      { count: 2, retryInMs: 4_000 },
      { count: 3, retryInMs: 16_000 },
      { count: 4, retryInMs: 60_000 },
    ]);
    expect(retryAgain(new Error('MongoDB is away'), 4)).to.include({ reason: 'scoring_failed' });
    const unavailable = internal({ code: 'model_unavailable', message: 'quarantined' });
    expect(retryAgain(unavailable, 4)).to.include({ reason: 'model_unavailable' });
  });
});
