import { callIdFloor } from '../shared/identifiers.js';
import { type ErasingStores, type ErasureStore, eraseLead } from '../shared/store/erasures.js';

/**
 * Erases leads once more from what calls have recorded that were under way when that was asked for.
 * @param options.leaseMs how long a call may take
 * @returns how many leads there were
 * @throws what MongoDB fails with; what has been done by then is not done again
 */
export async function eraseAgain(
  rooms: ErasingStores & { readonly erasures: ErasureStore },
  { nowMs, leaseMs }: { readonly nowMs: number; readonly leaseMs: number },
): Promise<number> {
  const due = await rooms.erasures.upTo(nowMs - leaseMs);
  for (const erasure of due) {
    const { org: organisationId, crm_id: crmId, at } = erasure;
    const beforeId = callIdFloor(at.getTime() + 1);
    await eraseLead(rooms, { organisationId, crmId, nowMs, beforeId });
    await rooms.erasures.forget(erasure);
  }
  return due.length;
}
