import { dayMs, dayText, monthEndMs, monthOf, monthStartMs } from '../../contract/dates.js';
import { testBucketRecords } from '../../contract/plans.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { AuditLog } from '../../store/console/audit-log.js';
import { CallDayStore, type DayCounts, latencyQuantile, refusedOf, sumOf } from '../../store/console/call-days.js';
import { type Model, ModelStore } from '../../store/models/models.js';
import { type ActionContext, defineAction } from '../action.js';
import { callTimes } from '../leads/crm.js';
import { leadReads } from '../leads/note-read.js';
import { verdictsOf } from '../models/read-models.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { entryDocuments } from '../people/audit-documents.js';
import { overviewInput, overviewOutput } from '../schemas/usage.js';
import { firstRun } from './first-run.js';
import { daysOf, monthUsage } from './show-usage.js';

const auditEntries = 5;
/** Reads and sign-ins change nothing, and would hide the changes. The page Audit log has them. */
const notShown = [...leadReads, 'session.begin', 'session.end_own'];
/** An organisation may have a thousand models, and each has a verdict to read. */
const shownModels = 8;
/** Before the third day a forecast would say more about the hour than about the month. */
const minDaysOfForecast = 2;

/** Everything on the first page of the console. */
export const showOverview = defineAction({
  name: 'overview.show',
  description: 'Read usage, forecast, activity, verdicts and the latest changes of an organisation.',
  role: 'viewer',
  effect: 'read',
  input: overviewInput,
  output: overviewOutput,
  async run(context, { org_id: organisationId, bucket = 'live' }) {
    const { database, clock } = context;
    const nowMs = clock.now();
    const month = monthOf(nowMs);
    const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
    const range = daysOf(organisationId, month);
    const store = new CallDayStore(database);
    const calls = store.countsByDay(range, bucket);
    const [counts, { days, ...usage }, records, models, crm, audit] = await Promise.all([
      calls,
      monthUsage(context, { organisation, bucket, month, calls }),
      store.recordsByModel(range),
      new ModelStore(database).list(organisationId),
      callTimes(database, organisationId),
      new AuditLog(database).page(organisationId, { most: auditEntries, without: notShown }),
    ]);
    const done = await firstRun(database, organisationId, {
      hasModel: models.length > 0,
      hasCall: crm.first_call_at !== null,
    });
    return {
      ...{
        plan: organisation.plan,
        test_limit: testBucketRecords,
        created_at: organisation.created_at.toISOString(),
        first_run: done,
      },
      ...{ org_id: organisationId, policy: organisation.policy, month, usage, days, crm },
      resets_at: new Date(monthEndMs(nowMs)).toISOString(),
      forecast: forecastOf(usage.current, nowMs),
      activity: activityOf(counts),
      models: await modelsOf(context, models, records),
      model_count: models.length,
      audit: await entryDocuments(database, audit.entries),
    };
  },
});

/** Usage at the end of the month if it goes on as since its beginning. */
function forecastOf(used: number, nowMs: number): { readonly records: number } | null {
  const beganMs = monthStartMs(monthOf(nowMs));
  const passedMs = nowMs - beganMs;
  if (passedMs < minDaysOfForecast * dayMs) return null;
  return { records: Math.round((used * (monthEndMs(nowMs) - beganMs)) / passedMs) };
}

function activityOf(counts: readonly DayCounts[]) {
  const { calls, errors, latency } = sumOf(counts);
  const days = counts.map((each) => ({
    ...{ day: dayText(each.day), calls: each.calls, refused: each.refused },
    ...quantilesOf(each.latency),
  }));
  return { calls, refused: refusedOf(errors), errors, ...quantilesOf(latency), days };
}

const quantilesOf = (latency: Readonly<Record<string, number>>) => ({
  p50_ms: latencyQuantile(latency, 0.5),
  p99_ms: latencyQuantile(latency, 0.99),
});

/** The models with the most records of live keys this month. */
async function modelsOf(context: ActionContext, models: readonly Model[], byModel: ReadonlyMap<string, number>) {
  const verdicts = verdictsOf(context);
  const withRecords = models
    .map((model) => ({ model, records: byModel.get(model._id) ?? 0 }))
    .sort((one, other) => other.records - one.records);
  return await Promise.all(
    withRecords.slice(0, shownModels).map(async ({ model, records }) => {
      const { state, failing_gate, summary, bands, gates } = await verdicts.detailOf(model);
      const reached = gates?.find(({ gate, state: of }) => gate === 'top_band_lift' && of !== 'not_reached');
      const lift = reached?.figures.lift;
      return {
        model_id: model._id,
        name: model.name,
        version: model.version,
        live_api: model.live_api,
        validation: { state, failing_gate, summary },
        ...(bands === undefined ? {} : { rates: bands.map(({ rate }) => rate) }),
        ...(lift === undefined ? {} : { lift }),
        records_this_month: records,
      };
    }),
  );
}
