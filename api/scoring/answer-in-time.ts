import { withTimeout } from '../../shared/async/timeouts.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Reply } from '../idempotency/idempotency.js';
import { msUntilFence, type ScoringCall } from './scoring-call.js';

/**
 * Rejects at the deadline plus 250 ms. A story that still runs checks `isPastFence` at its end and voids the call if it
 * was recorded.
 * @throws ApiError internalError at the fence; what `story` throws before
 */
export function answerInTime(call: ScoringCall, story: () => Promise<Reply>): Promise<Reply> {
  return withTimeout(msUntilFence(call.deadline), story(), unanswered);
}

const unanswered = (): ApiError =>
  new ApiError('internalError', 'The call could not be answered in time.', { retryAfterSeconds: 1 });
