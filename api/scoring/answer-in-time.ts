import { withTimeout } from '../../shared/async/timeouts.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Reply } from '../idempotency/idempotency.js';
import { msUntilFence, type ScoringCall } from './scoring-call.js';

/**
 * Answers by the deadline come what may. What goes on behind the fence sees by itself that it is over (`isPastFence`),
 * and takes back what it has recorded: what is not answered with 200 is not counted.
 * @throws ApiError internalError at the deadline; what `story` throws before
 */
export function answerInTime(call: ScoringCall, story: () => Promise<Reply>): Promise<Reply> {
  const reply = story();
  return withTimeout(msUntilFence(call.deadline), reply, unanswered);
}

const unanswered = (): ApiError =>
  new ApiError('internalError', 'The call could not be answered in time.', { retryAfterSeconds: 1 });
