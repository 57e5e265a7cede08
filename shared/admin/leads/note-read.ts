import { hashSecret } from '../../contract/identifiers.js';
import { AuditLog } from '../../store/console/audit-log.js';
import type { ActionContext } from '../action.js';
import { checkedKeySettings } from '../organisations/key-settings.js';

/** The actions that read leads. */
export const leadReads = ['lead.show', 'lead.export', 'lead.search', 'lead.recent'] as const;

const minute = 60_000;
/** Reads of one person and lead within this time have one entry. */
const joinedMs = 10 * minute;

/** The target of entries about reads of one lead: without the pepper it does not tell which lead it is. */
export const readTarget = (organisationId: string, crmId: string, pepper: string): string =>
  `lead_${hashSecret(`read ${organisationId} ${crmId}`, pepper).slice(0, 32)}`;

/**
 * Leaves an entry of the audit log for a read of leads, before its result leaves the service. There is one for each
 * person, action, lead and ten minutes. It names the lead by a hash. Does nothing with AUDIT_READS=no.
 * @param read.crmId as it is stored; absent for a search
 * @param read.found number of leads that a search has found
 */
export async function noteRead(
  context: ActionContext,
  action: (typeof leadReads)[number],
  read: { readonly organisationId: string; readonly crmId?: string; readonly found?: number },
): Promise<void> {
  if (!context.auditsReads) return;
  const { database, clock, actor, record } = context;
  const { organisationId, crmId, found } = read;
  const target = crmId === undefined ? undefined : await targetOf(context, organisationId, crmId);
  const since = new Date(clock.now() - joinedMs);
  const of = { action, actor: actor.name, target };
  const { entries } = await new AuditLog(database).page(organisationId, { ...of, from: since, most: 1 });
  if (entries.length > 0) return;
  await record({
    ...{ organisationId, ...(target === undefined ? {} : { target }) },
    ...(found === undefined ? {} : { after: { leads_found: found } }),
  });
}

async function targetOf(context: ActionContext, organisationId: string, crmId: string): Promise<string> {
  const { pepper } = await checkedKeySettings(context, 'the audit log could not find this read again');
  return readTarget(organisationId, crmId, pepper);
}
