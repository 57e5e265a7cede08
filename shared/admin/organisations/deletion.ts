import { dayMs, minuteText } from '../../contract/dates.js';
import type { ShapeOf } from '../../contract/schema.js';
import type { Change } from '../../redis/changes.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import type { ClientSession } from '../../store/connection/connect.js';
import { DeletionStore } from '../../store/organisations/deletions.js';
import { restoreOrganisation, withdrawOrganisation } from '../../store/organisations/withdraw-organisation.js';
import { type ActionContext, type AdminContext, defineAction } from '../action.js';
import { AdminError, invalid, notFound } from '../admin-error.js';
import { refuseForOlderProcesses } from '../older-processes.js';
import {
  deleteOrganisationInput,
  organisationInput,
  organisationSchema,
  usualDeletionDays,
} from '../schemas/organisations.js';
import { organisationDocument, requireOrganisation } from './organisation-document.js';

/**
 * Orders the deletion of an organisation. Its entry in the audit log is one of the operators, because those of the
 * organisation go with it. The entry has no name.
 */
export const deleteOrganisation = defineAction({
  name: 'org.delete',
  description:
    'Delete an organisation with all its data. Its calls get 401 and its people see nothing at once. Within the given ' +
    'days, 7 by default, that can be taken back.',
  role: 'operator',
  effect: 'change',
  input: deleteOrganisationInput,
  output: organisationSchema,
  prepare: refuseIgnored,
  async run(context, { org_id: organisationId, name, after_days: days = usualDeletionDays }) {
    const { database, clock, actor, record, announce } = context;
    const session = transactionOf(context);
    const before = await requireOrganisation(new OrganisationStore(database, session), organisationId);
    if (before.name !== name.trim()) throw invalid('name', 'is not the name of this organisation. Nothing was changed');
    const requestedAt = new Date(clock.now());
    const dueAt = new Date(clock.now() + days * dayMs);
    const deletion = { organisationId, requestedAt, by: actor.name, dueAt };
    const changed = await withdrawOrganisation(database, session, deletion);
    if (changed === undefined) throw notFound('organisation', organisationId);
    announceAll(changed.changes, announce);
    await record({ target: organisationId, after: { due_at: dueAt.toISOString() } });
    return organisationDocument(changed.organisation);
  },
});

/** Takes a deletion back. Sessions and links that it ended stay ended. Idempotent. */
export const undeleteOrganisation = defineAction({
  name: 'org.undelete',
  description: 'Take the deletion of an organisation back, until its days are over.',
  role: 'operator',
  effect: 'change',
  input: organisationInput,
  output: organisationSchema,
  async run(context, { org_id: organisationId }) {
    const { database, clock, record, announce } = context;
    const session = transactionOf(context);
    const before = await new OrganisationStore(database, session).find(organisationId);
    const ordered = await new DeletionStore(database, session).find(organisationId);
    if (ordered?.state === 'removing' || ordered?.state === 'deleted') throw tooLate(organisationId, ordered.due_at);
    if (before === undefined) throw notFound('organisation', organisationId);
    if (before.deletion === undefined) return organisationDocument(before);
    if (before.deletion.due_at.getTime() <= clock.now()) throw tooLate(organisationId, before.deletion.due_at);
    const changed = await restoreOrganisation(database, session, { organisationId, at: new Date(clock.now()) });
    if (changed === undefined) throw tooLate(organisationId, before.deletion.due_at);
    announceAll(changed.changes, announce);
    await record({ target: organisationId, before: { due_at: before.deletion.due_at.toISOString() } });
    return organisationDocument(changed.organisation);
  },
});

const tooLate = (organisationId: string, dueAt: Date): AdminError =>
  new AdminError(
    'conflict',
    `The days of the organisation ${organisationId} were over on ${minuteText(dueAt.getTime())}. Its data is being ` +
      'removed or is gone, and only a backup of before has it',
  );

function announceAll(changes: readonly Change[], announce: ActionContext['announce']): void {
  for (const change of changes) announce(change);
}

/** The transaction that every action with the effect `change` has. */
function transactionOf({ session }: ActionContext): ClientSession {
  if (session === undefined) throw new Error('a change runs in a transaction');
  return session;
}

/** Refuses a deletion that a running process would not obey. */
async function refuseIgnored(
  context: AdminContext,
  _input: ShapeOf<typeof deleteOrganisationInput>,
  _material: undefined,
): Promise<void> {
  await refuseForOlderProcesses(context, { change: 'a deletion', kinds: ['gateway', 'bulk', 'console'] });
}
