import { ApiError } from '../shared/errors.js';
import type { Reply } from './replays.js';
import { msUntilFence, type ScoringCall } from './scoring-call.js';

/**
 * Answers by the deadline come what may. What goes on behind the fence sees by itself that it is over (`isPastFence`),
 * and takes back what it has recorded: what is not answered with 200 is not counted.
 * @throws ApiError internalError at the deadline; what `story` throws before
 */
export async function answerInTime(call: ScoringCall, story: () => Promise<Reply>): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new ApiError('internalError', 'The call could not be answered in time.', { retryAfterSeconds: 1 }),
        ),
      msUntilFence(call.deadline),
    );
  });
  try {
    return await Promise.race([story(), late]);
  } finally {
    clearTimeout(timer);
  }
}
