import { eraseEverywhere } from '../../latest-scores/erase-everywhere.js';
import { LatestScores } from '../../latest-scores/latest-scores.js';
import { hasCallsInFlight } from '../../quota/calls-in-flight.js';
import { quotaCommands } from '../../quota/commands.js';
import { redisNowMs } from '../../redis/connect.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { ErasureStore, erasingStores } from '../../store/calls/erasures.js';
import { defineAction } from '../action.js';
import { AdminError } from '../admin-error.js';
import { checkedKeySettings } from '../organisations/key-settings.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { eraseLeadInput, eraseLeadOutput } from '../schemas/leads.js';

/** Erases a person from all scores, replies and outcomes. Its counted usage stays. The audit log does not name it. */
export const eraseLead = defineAction({
  name: 'lead.erase',
  description: 'Erase a person from all scores, stored replies and outcomes. It cannot be undone.',
  role: 'owner',
  effect: 'steps',
  input: eraseLeadInput,
  output: eraseLeadOutput,
  async run(context, { org_id: organisationId, crm_id: crmId }) {
    const { database, clock, leaseMs, record } = context;
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const redis = await context.redis();
    const { pepper: keyPepper } = await checkedKeySettings(context, 'a restore could not repeat this erasure');
    await record({ organisationId });
    const wasKnown = await eraseEverywhere(
      { organisationId, crmId },
      {
        ...erasingStores(database),
        erasures: new ErasureStore(database),
        latest: new LatestScores(redis),
        hasCallsInFlight: (id) => hasCallsInFlight(quotaCommands(redis), id, clock.now()),
        redisNowMs: () => redisNowMs(redis),
        ...{ leaseMs, keyPepper },
      },
    );
    if (!wasKnown) throw new AdminError('not_found', 'Nothing has been scored under this crm_id.');
    return { crm_id: crmId, erased_at: new Date(clock.now()).toISOString() };
  },
});
