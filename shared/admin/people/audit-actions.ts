import { storedCrmId } from '../../contract/crm-id.js';
import { dayMs } from '../../contract/dates.js';
import type { ShapeOf } from '../../contract/schema.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { AuditLog, type AuditQuery } from '../../store/console/audit-log.js';
import { type ActionContext, defineAction } from '../action.js';
import { dayStart } from '../day-start.js';
import { readTarget } from '../leads/note-read.js';
import { checkedKeySettings } from '../organisations/key-settings.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { listAuditInput, listAuditOutput, listOperatorAuditInput } from '../schemas/people.js';
import { entryDocuments } from './audit-documents.js';

const entriesPerPage = 50;

export const listAudit = defineAction({
  name: 'audit.list',
  description: "List the changes of an organisation's settings, latest first, by person, kind and days.",
  role: 'viewer',
  effect: 'read',
  input: listAuditInput,
  output: listAuditOutput,
  async run(context, { org_id: organisationId, lead, ...filters }) {
    const { database } = context;
    const log = new AuditLog(database);
    const query = queryOf(filters);
    const isWhole = lead === undefined && Object.values(filters).every((each) => each === undefined);
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const target = lead === undefined ? undefined : await targetsOfLead(context, organisationId, lead);
    const [page, actors] = await Promise.all([
      log.page(organisationId, { ...query, target }),
      isWhole ? log.actors(organisationId) : undefined,
    ]);
    const entries = await entryDocuments(database, page.entries);
    const next = page.next === undefined ? {} : { next: page.next };
    return { entries, ...next, ...(actors === undefined ? {} : { actors }) };
  },
});

/** The entries that belong to no organisation, such as a token of the operator or a migration. */
export const listOperatorAudit = defineAction({
  name: 'audit.list_operator',
  description: 'List the changes that belong to no organisation, latest first, by person, kind and days.',
  role: 'operator',
  effect: 'read',
  input: listOperatorAuditInput,
  output: listAuditOutput,
  async run({ database }, filters) {
    const { entries, next } = await new AuditLog(database).page(undefined, queryOf(filters));
    return { entries: await entryDocuments(database, entries), ...(next === undefined ? {} : { next }) };
  },
});

const queryOf = ({ from, to, limit = entriesPerPage, ...by }: ShapeOf<typeof listOperatorAuditInput>): AuditQuery => ({
  ...{ most: limit, ...by },
  from: from === undefined ? undefined : dayStart('from', from),
  until: to === undefined ? undefined : new Date(dayStart('to', to).getTime() + dayMs),
});

/** A read from before a new pepper names the lead by a hash with the previous one. */
async function targetsOfLead(context: ActionContext, organisationId: string, crmId: string): Promise<string[]> {
  const { pepper, previousPepper } = await checkedKeySettings(context, 'reads of this lead would not be found');
  const peppers = previousPepper === undefined ? [pepper] : [pepper, previousPepper];
  return peppers.map((each) => readTarget(organisationId, storedCrmId(crmId), each));
}
