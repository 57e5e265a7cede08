import { newId } from '../../shared/contract/identifiers.js';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Logger } from '../../shared/process/logger.js';
import {
  type DueErasure,
  type ErasingStores,
  type ErasureStore,
  eraseLead,
} from '../../shared/store/calls/erasures.js';
import { withMongoTimeout } from '../../shared/store/connection/connect.js';

export interface SecondErasureDeps extends ErasingStores {
  readonly erasures: ErasureStore;
  readonly latest: Pick<LatestScores, 'forgetLead'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Leads that are erased at once, at least; as many of an organisation take their turn before the next one. */
const leadsPerTurn = 8;
const maxJobMs = 45_000; // the next job, a minute after the start of this one, erases the rest
const maxLeadMs = 10_000; // a frozen MongoDB must not block the queue
const retryAfterMs = 5 * 60_000;

/**
 * Erases leads a second time, one lease after the request. Calls that were in flight then may have recorded the lead
 * since. Organisations take turns, from any of them on, until no erasure is due. One that fails is put off.
 * @param options.nowMs Redis's clock
 * @param options.signal ends the job after the leads that are in flight
 * @returns erased leads
 * @throws errors of MongoDB when the erasures cannot be read or put off
 */
export async function eraseAgain(
  deps: SecondErasureDeps,
  { nowMs, signal }: { readonly nowMs: number; readonly signal?: AbortSignal },
): Promise<number> {
  const { erasures, logger } = deps;
  const endMs = performance.now() + maxJobMs;
  const failures: unknown[] = [];
  let erased = 0;
  for (let from = newId('org'); performance.now() < endMs && signal?.aborted !== true; ) {
    const { due, last } = await nextStep(erasures, from, nowMs);
    if (due.length === 0 && from === '') break;
    from = last ?? '';
    const eraseOrPutOff = async (erasure: DueErasure): Promise<void> => {
      try {
        await withMongoTimeout(maxLeadMs, () => eraseOne(deps, erasure));
        erased += 1;
      } catch (error) {
        failures.push(error);
        await erasures.putOff(erasure, nowMs + retryAfterMs);
      }
    };
    await Promise.all(due.map(eraseOrPutOff));
  }
  const [error] = failures;
  if (failures.length > 0)
    logger.warn({ leads: failures.length, error }, 'second erasure of leads failed; retrying in five minutes');
  return erased;
}

/**
 * Due erasures of some organisations after another one, up to eight of each; `last` is undefined after the last one.
 */
async function nextStep(
  erasures: ErasureStore,
  from: string,
  nowMs: number,
): Promise<{ readonly due: readonly DueErasure[]; readonly last: string | undefined }> {
  const due: DueErasure[] = [];
  let last: string | undefined = from;
  while (last !== undefined && due.length < leadsPerTurn) {
    const ofNext: readonly DueErasure[] = await erasures.dueAfter(last, nowMs, leadsPerTurn);
    due.push(...ofNext);
    last = ofNext[0]?.org;
  }
  return { due, last };
}

async function eraseOne({ latest, erasures, ...stores }: SecondErasureDeps, erasure: DueErasure): Promise<void> {
  const lead = { organisationId: erasure.org, crmId: erasure.crm_id };
  const wasThere = await eraseLead(stores, { ...lead, arrivedBy: erasure.erased_at });
  // Whatever Redis knows, MongoDB knows too.
  await latest.forgetLead(lead);
  await erasures.end(erasure, wasThere);
}
