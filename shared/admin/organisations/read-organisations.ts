import { monthOf } from '../../contract/dates.js';
import type { Redis } from '../../redis/connect.js';
import { usageKey } from '../../redis/keys.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { defineAction } from '../action.js';
import { notFound } from '../admin-error.js';
import {
  listOrganisationsInput,
  listOrganisationsOutput,
  organisationInput,
  organisationSchema,
} from '../schemas/organisations.js';
import { organisationDocument } from './organisation-document.js';

export const showOrganisation = defineAction({
  name: 'org.show',
  description: 'Read an organisation.',
  role: 'viewer',
  effect: 'read',
  input: organisationInput,
  output: organisationSchema,
  async run({ database }, { org_id: id }) {
    // Also one that is to be deleted: an operator may take that back.
    const organisation = await new OrganisationStore(database).find(id);
    if (organisation === undefined) throw notFound('organisation', id);
    return organisationDocument(organisation);
  },
});

/** Lists organisations, oldest first; with a limit in pages, by id. */
export const listOrganisations = defineAction({
  name: 'org.list',
  description: 'List the organisations: all of them, oldest first, or a page, in the order of their ids.',
  role: 'operator',
  effect: 'read',
  input: listOrganisationsInput,
  output: listOrganisationsOutput,
  async run({ database, clock, redis }, { after, limit, with_usage: withUsage }) {
    const store = new OrganisationStore(database);
    const found = await (limit === undefined ? store.list() : store.page(after ?? '', limit + 1));
    const page = found.slice(0, limit);
    const used = withUsage === true ? await usedOf(page, monthOf(clock.now()), await redis()) : undefined;
    const organisations = page.map((organisation, index) => ({
      ...organisationDocument(organisation),
      ...(used === undefined ? {} : { used: used[index] ?? null }),
    }));
    const last = page.at(-1);
    return { organisations, ...(last === undefined || found.length <= page.length ? {} : { next: last._id }) };
  },
});

/** The live usage of organisations this month; null for a counter that Redis does not know. */
async function usedOf(
  organisations: readonly { readonly _id: string }[],
  month: string,
  redis: Redis,
): Promise<(number | null)[]> {
  return await Promise.all(
    organisations.map(async ({ _id: organisationId }) => {
      const used = await redis.hget(usageKey({ organisationId, bucket: 'live', month }), 'used');
      return used === null ? null : Number(used);
    }),
  );
}
