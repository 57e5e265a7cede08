import type { Organisation, OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { notFound } from './cli-error.js';

/** @throws CliError when the organisation does not exist */
export async function requireOrganisation(store: OrganisationStore, organisationId: string): Promise<Organisation> {
  const organisation = await store.find(organisationId);
  if (organisation === undefined) throw notFound(`organisation ${organisationId}`, 'org list');
  return organisation;
}
