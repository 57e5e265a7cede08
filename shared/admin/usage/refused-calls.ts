import { errorTable } from '../../contract/errors.js';
import { readRefusedCalls } from '../../messages/refused-calls.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { defineAction } from '../action.js';
import { namesOf } from '../names-of.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { refusedCallsInput, refusedCallsOutput } from '../schemas/usage.js';

/** Lists the calls that were refused or that failed, with the remedies of their codes. */
export const listRefusedCalls = defineAction({
  name: 'usage.refused',
  description: 'List the last 200 calls of keys of an organisation that were refused or failed, latest first.',
  role: 'viewer',
  effect: 'read',
  input: refusedCallsInput,
  output: refusedCallsOutput,
  async run({ database, redis, clock }, { org_id: organisationId }) {
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const calls = await readRefusedCalls(await redis(), organisationId, clock.now());
    const names = await namesOf(
      database,
      calls.map(({ keyId }) => keyId),
    );
    const remedyOf = (call: { readonly code: string; readonly status: number }): string =>
      Object.values(errorTable).find(({ code, status }) => code === call.code && status === call.status)?.remedy ?? '';
    return {
      calls: calls.map(({ atMs, keyId, code, status, route, requestId }) => ({
        at: new Date(atMs).toISOString(),
        ...{ key_id: keyId, key_name: names.get(keyId) ?? null, code, status, route, request_id: requestId },
        remedy: remedyOf({ code, status }),
      })),
    };
  },
});
