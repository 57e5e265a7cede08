import { ApiError } from '../shared/errors.js';
import type { Reply } from './replays.js';
import type { ScoringRooms } from './score-records.js';
import { msUntil, type ScoringCall } from './scoring-call.js';

/** Each step of a call has the call's deadline as its own limit; this fence stands a little behind them. */
const graceMs = 250;

/**
 * Answers by the deadline come what may. A call that ends well after its caller was told otherwise is taken back: what is
 * not answered with 200 is not counted.
 * @throws ApiError internalError at the deadline; what `story` throws before
 */
export async function answerInTime(
  call: ScoringCall,
  { recorder }: Pick<ScoringRooms, 'recorder'>,
  story: () => Promise<Reply>,
): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new ApiError('internalError', 'The call could not be answered in time.', { retryAfterSeconds: 1 }),
        ),
      msUntil(call.deadline) + graceMs,
    );
  });
  const told = story();
  let isLate = true;
  try {
    const reply = await Promise.race([told, late]);
    isLate = false;
    return reply;
  } catch (error) {
    if (isLate) takeBackWhenDone(told, () => recorder.takeBack(call.id));
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function takeBackWhenDone(told: Promise<Reply>, takeBack: () => Promise<void>): void {
  told
    .then(async (reply) => {
      if (!reply.isReplay) await takeBack();
    })
    .catch(() => undefined);
}
