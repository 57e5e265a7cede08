import type { ShapeOf } from '../../contract/schema.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { type AdminContext, defineAction, difference } from '../action.js';
import { refuseForOlderProcesses } from '../older-processes.js';
import { organisationInput, organisationSchema, suspendInput } from '../schemas/organisations.js';
import { organisationDocument, requireOrganisation } from './organisation-document.js';

/** Stops the scoring of an organisation. A second suspension changes the reason and keeps the beginning. */
export const suspendOrganisation = defineAction({
  name: 'org.suspend',
  description:
    'Suspend an organisation: its scoring calls, new bulk jobs and the playground get 402, and its jobs pause. ' +
    'Reading, outcomes and erasure go on.',
  role: 'operator',
  effect: 'change',
  input: suspendInput,
  output: organisationSchema,
  prepare: refuseIgnored,
  async run({ database, session, clock, actor, record, announce }, { org_id: organisationId, reason: given }) {
    const reason = given.trim();
    const store = new OrganisationStore(database, session);
    const before = await requireOrganisation(store, organisationId);
    announce({ kind: 'organisation', id: organisationId });
    if (before.suspended?.reason === reason) return organisationDocument(before);
    const suspended = { at: before.suspended?.at ?? new Date(clock.now()), by: actor.name, reason };
    const document = organisationDocument((await store.update(organisationId, { suspended })) ?? before);
    await record({ organisationId, reason, ...difference(organisationDocument(before), document) });
    return document;
  },
});

/** Ends a suspension. Paused jobs go on by themselves. Idempotent. */
export const resumeOrganisation = defineAction({
  name: 'org.resume',
  description: 'End the suspension of an organisation. Jobs that it paused go on by themselves.',
  role: 'operator',
  effect: 'change',
  input: organisationInput,
  output: organisationSchema,
  async run({ database, session, record, announce }, { org_id: organisationId }) {
    const store = new OrganisationStore(database, session);
    const before = await requireOrganisation(store, organisationId);
    announce({ kind: 'organisation', id: organisationId });
    if (before.suspended === undefined) return organisationDocument(before);
    const document = organisationDocument((await store.update(organisationId, {}, ['suspended'])) ?? before);
    await record({ organisationId, ...difference(organisationDocument(before), document) });
    return document;
  },
});

/** Refuses a suspension that a running process would not obey. A pool scores what the others admit. */
async function refuseIgnored(
  context: AdminContext,
  _input: ShapeOf<typeof suspendInput>,
  _material: undefined,
): Promise<void> {
  await refuseForOlderProcesses(context, { change: 'a suspension', kinds: ['gateway', 'bulk', 'console'] });
}
