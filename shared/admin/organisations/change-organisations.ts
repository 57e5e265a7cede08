import { type OrganisationFields, OrganisationStore } from '../../store/accounts/organisations.js';
import { defineAction, difference } from '../action.js';
import { AdminError } from '../admin-error.js';
import { createOrganisationInput, organisationSchema, setOrganisationInput } from '../schemas/organisations.js';
import {
  checkOutcomeValues,
  checkPlan,
  organisationDocument,
  requireOrganisation,
  trialEnd,
} from './organisation-document.js';

/** Creates an organisation. By default a trial ends after 14 days. */
export const createOrganisation = defineAction({
  name: 'org.create',
  description: 'Create an organisation.',
  role: 'operator',
  effect: 'change',
  input: createOrganisationInput,
  output: organisationSchema,
  async run({ database, session, clock, record }, input) {
    const { name, plan, limit, policy = 'warn', trial_ends_at: ends } = input;
    checkPlan(input, plan);
    const nowMs = clock.now();
    const fields: OrganisationFields = {
      name: name.trim(),
      plan,
      policy,
      ...(limit === undefined ? {} : { limit }),
      ...(plan === 'trial' ? { trial_ends_at: ends === undefined ? trialEnd(nowMs) : new Date(ends) } : {}),
    };
    const organisation = await new OrganisationStore(database, session).create(fields, new Date(nowMs));
    const document = organisationDocument(organisation);
    await record({ organisationId: organisation._id, after: document });
    return document;
  },
});

/** The settings that the operator alone may change. */
const operatorSettings = ['plan', 'limit', 'trial_ends_at'] as const;

/** Changes the given settings of an organisation. By default a new trial ends after 14 days. */
export const setOrganisation = defineAction({
  name: 'org.set',
  description: 'Change settings of an organisation. Plan, limit and trial are for operators.',
  role: 'owner',
  effect: 'change',
  input: setOrganisationInput,
  output: organisationSchema,
  async run({ database, session, clock, actor, record, announce }, input) {
    const { org_id: organisationId, name, plan, limit, policy, trial_ends_at: ends, won_values, lost_values } = input;
    const refused = operatorSettings.find((setting) => input[setting] !== undefined);
    if (refused !== undefined && actor.role !== 'operator')
      throw new AdminError('forbidden', `${refused} can be changed by the operator only.`, { member: refused });
    const store = new OrganisationStore(database, session);
    const before = await requireOrganisation(store, organisationId);
    checkPlan(input, plan ?? before.plan);
    const startsTrial = plan === 'trial' && before.plan !== 'trial';
    const trialEnds = ends !== undefined ? new Date(ends) : startsTrial ? trialEnd(clock.now()) : undefined;
    const values = { won_values, lost_values };
    checkOutcomeValues({
      won_values: won_values ?? before.won_values ?? [],
      lost_values: lost_values ?? before.lost_values ?? [],
    });
    const given = { name: name?.trim(), plan, limit: limit ?? undefined, policy, trial_ends_at: trialEnds, ...values };
    const absent = [
      ...(limit === null ? ['limit' as const] : []),
      ...(['won_values', 'lost_values'] as const).filter((list) => values[list]?.length === 0),
    ];
    const removed: readonly string[] = absent;
    const set = Object.entries(given).filter(([member, value]) => value !== undefined && !removed.includes(member));
    if (set.length === 0 && absent.length === 0) return organisationDocument(before);
    const fields: Partial<OrganisationFields> = Object.fromEntries(set);
    const after = (await store.update(organisationId, fields, absent)) ?? before;
    const document = organisationDocument(after);
    await record({ organisationId, ...difference(organisationDocument(before), document) });
    announce({ kind: 'organisation', id: organisationId });
    return document;
  },
});
