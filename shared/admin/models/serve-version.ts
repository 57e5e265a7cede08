import { isCleared } from '../../contract/verdict.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { type Model, type ModelFields, overrideOf, type RemovableField } from '../../store/models/models.js';
import type { AdminContext } from '../action.js';
import { AdminError } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { verdictsOf } from './read-models.js';

/**
 * Refuses to let a version serve whose calls would get 409.
 * @param model with the version and its override, as they would be
 * @throws AdminError would_block
 */
export async function requireServable(context: Pick<AdminContext, 'database' | 'clock'>, model: Model): Promise<void> {
  const state = await blockedState(context, model);
  if (state === undefined) return;
  throw new AdminError(
    'would_block',
    `Version "${model.version}" of ${model._id} would get 409 for each call: the deploy policy is block and its validation state is ${state}. Let it pass as a candidate first, or give it an override with a reason`,
  );
}

/** The validation state for which the policy of the organisation blocks a model; undefined if it does not. */
export async function blockedState(
  { database, clock }: Pick<AdminContext, 'database' | 'clock'>,
  model: Model,
): Promise<string | undefined> {
  if (overrideOf(model) !== undefined) return undefined;
  const { policy } = await requireOrganisation(new OrganisationStore(database), model.organisation_id);
  if (policy !== 'block') return undefined;
  const verdict = await verdictsOf({ database, clock }).of(model);
  return isCleared(verdict) ? undefined : verdict.state;
}

/**
 * The version that a rollback restores after a change. Another version keeps the one before with its override. An
 * override that is removed is not restored later either.
 * @returns nothing to set if the change leaves it as it is, or removes it
 */
export function previousAfter(
  before: Model,
  { version = before.version }: ModelFields,
  removed: readonly RemovableField[],
): Pick<ModelFields, 'previous'> {
  const { override: given, previous } = before;
  if (removed.includes('previous')) return {};
  if (version !== before.version) {
    const override = overrideOf(before);
    return { previous: { version: before.version, ...(override && { override }) } };
  }
  const isRestored = previous?.override !== undefined && given?.version === previous.version;
  return isRestored && removed.includes('override') ? { previous: { version: previous.version } } : {};
}

/** The fields to remove with a change: a version that serves is no candidate any longer. */
export const endedBy = ({ candidate }: Model, { version }: ModelFields): readonly RemovableField[] =>
  version !== undefined && candidate?.version === version ? ['candidate'] : [];
