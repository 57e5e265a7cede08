import { callIdFloor } from '../../shared/contract/identifiers.js';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import { type ErasingStores, type ErasureStore, eraseLead } from '../../shared/store/calls/erasures.js';

export interface SecondErasureDeps extends ErasingStores {
  readonly erasures: ErasureStore;
  readonly latest: Pick<LatestScores, 'forgetLead'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Erases leads a second time, one lease after the request. Calls that were in flight then may have recorded the lead
 * since, and their latest scores in Redis. A lead that cannot be erased does not stop the others;
 * the next run retries it.
 * @param options.leaseMs maximum duration of a call
 * @returns erased leads
 * @throws errors of MongoDB when the list of leads cannot be read
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
      await deps.latest.forgetLead({ organisationId, crmId });
      await deps.erasures.forget(erasure);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) {
    const [error] = failures;
    logger.warn({ leads: failures.length, error }, 'second erasure of leads failed; retrying in a minute');
  }
  return due.length - failures.length;
}
