import { callIdFloor } from '../shared/identifiers.js';
import type { Logger } from '../shared/logger.js';
import type { NewestScores } from '../shared/newest-scores/newest-scores.js';
import { type ErasingStores, type ErasureStore, eraseLead } from '../shared/store/erasures.js';
import type { ModelStore } from '../shared/store/models.js';

/** What erasing again needs. */
export interface EraseAgainRooms extends ErasingStores {
  readonly erasures: ErasureStore;
  readonly models: Pick<ModelStore, 'listWithDeleted'>;
  readonly newest: Pick<NewestScores, 'forgetLead'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Erases leads once more from what calls have recorded that were under way when that was asked for, and from Redis, which had
 * to know until then. One that fails is passed over, so that the others do not wait for it; it is tried again the next time.
 * @param options.leaseMs how long a call may take
 * @returns how many leads were erased
 * @throws what MongoDB fails with when the list of leads cannot be read
 */
export async function eraseAgain(
  { logger, ...rooms }: EraseAgainRooms,
  { nowMs, leaseMs }: { readonly nowMs: number; readonly leaseMs: number },
): Promise<number> {
  const due = await rooms.erasures.upTo(nowMs - leaseMs);
  const failures: unknown[] = [];
  for (const erasure of due) {
    const { org: organisationId, crm_id: crmId, at } = erasure;
    const beforeId = callIdFloor(at.getTime() + 1);
    try {
      await eraseLead(rooms, { organisationId, crmId, nowMs, beforeId });
      const modelIds = (await rooms.models.listWithDeleted(organisationId)).map(({ _id }) => _id);
      await rooms.newest.forgetLead({ organisationId, modelIds, crmId, atMs: at.getTime() });
      await rooms.erasures.forget(erasure);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    const [error] = failures;
    logger.warn(
      { leads: failures.length, error },
      'leads could not be erased once more; tried again in a minute',
    );
  }
  return due.length - failures.length;
}
