import { callIdFloor } from '../../shared/contract/identifiers.js';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import { type ErasingStores, type ErasureStore, eraseLead } from '../../shared/store/calls/erasures.js';
import type { ModelStore } from '../../shared/store/models/models.js';

/** What erasing again needs. */
export interface SecondErasureDeps extends ErasingStores {
  readonly erasures: ErasureStore;
  readonly models: Pick<ModelStore, 'listWithDeleted'>;
  readonly latest: Pick<LatestScores, 'forgetLead'>;
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
  { logger, ...deps }: SecondErasureDeps,
  { nowMs, leaseMs }: { readonly nowMs: number; readonly leaseMs: number },
): Promise<number> {
  const due = await deps.erasures.upTo(nowMs - leaseMs);
  const failures: unknown[] = [];
  for (const erasure of due) {
    const { org: organisationId, crm_id: crmId, at } = erasure;
    const beforeId = callIdFloor(at.getTime() + 1);
    try {
      await eraseLead(deps, { organisationId, crmId, nowMs, beforeId });
      const modelIds = (await deps.models.listWithDeleted(organisationId)).map(({ _id }) => _id);
      await deps.latest.forgetLead({ organisationId, modelIds, crmId, atMs: at.getTime() });
      await deps.erasures.forget(erasure);
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
