import { dayMs, monthEndMs, monthOf } from '../../contract/dates.js';
import { allowanceOf, hasLiveApi } from '../../contract/plans.js';
import { mayActAs } from '../../contract/roles.js';
import { ApiKeyStore } from '../../store/accounts/api-keys.js';
import { type Organisation, OrganisationStore } from '../../store/accounts/organisations.js';
import { CallDayStore } from '../../store/console/call-days.js';
import { JobStore } from '../../store/jobs/jobs.js';
import { ModelStore } from '../../store/models/models.js';
import { type ActionContext, defineAction } from '../action.js';
import { pauseDocument } from '../jobs/job-document.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { attentionInput, attentionOutput } from '../schemas/organisations.js';
import { readCounter } from '../usage/usage-counters.js';
import { vanishedFields } from './vanished-fields.js';

/** The troubles of a kind that are listed. */
const shown = 3;
/** Share of the limit from which its end is near. */
const nearShare = 0.9;
const idleDays = 60;
/** The oldest keys. An organisation with more has better means than a list. */
const mostKeys = 1_000;

/**
 * Names what an admin should look at: a limit that is near, paused jobs, fields that vanished, idle keys. The last
 * three are for those who may act on them. Calls that are refused now are in `showStanding`.
 */
export const showAttention = defineAction({
  name: 'org.attention',
  description: 'Name what needs attention: a limit that is near, paused jobs, vanished fields, idle keys.',
  role: 'viewer',
  effect: 'read',
  input: attentionInput,
  output: attentionOutput,
  async run(context, { org_id: id }) {
    const organisation = await requireOrganisation(new OrganisationStore(context.database), id);
    const isAdmin = mayActAs(context.actor.role, 'admin');
    const [near, jobs, fields, keys] = await Promise.all([
      nearLimit(context, organisation),
      isAdmin ? pausedJobs(context, id) : { count: 0, jobs: [] },
      isAdmin ? liveFields(context, id) : { count: 0, fields: [] },
      isAdmin ? idleKeys(context, id) : { count: 0, keys: [] },
    ]);
    return {
      org_id: id,
      ...(near === undefined ? {} : { near_limit: near }),
      ...{ paused_jobs: jobs.jobs, paused_job_count: jobs.count },
      ...{ vanished_fields: fields.fields, vanished_field_count: fields.count },
      ...{ idle_keys: keys.keys, idle_key_count: keys.count },
    };
  },
});

/** The month of live keys, once most of its limit is used and before calls are refused. */
async function nearLimit(context: ActionContext, organisation: Organisation) {
  const nowMs = context.clock.now();
  if (!hasLiveApi(organisation)) return undefined;
  const month = monthOf(nowMs);
  const counter = { organisationId: organisation._id, bucket: 'live', month } as const;
  // As in `showStanding`: without the counter, the next call restores it.
  const counted = await context
    .redis()
    .then((redis) => readCounter(redis, counter))
    .catch(() => undefined);
  const { limit, hardStop: backstop } = allowanceOf(organisation, 'live');
  const used = counted?.used ?? 0;
  if (used < nearShare * limit || used >= backstop) return undefined;
  return { month, used, limit, backstop, resets_at: new Date(monthEndMs(nowMs)).toISOString() };
}

/** The paused jobs, newest first. An organisation has at most twenty. */
async function pausedJobs({ database }: ActionContext, organisationId: string) {
  const paused = await new JobStore(database).pausedOf(organisationId);
  const jobs = paused.slice(0, shown).map(({ _id, options, file, pause, settled }) => ({
    job_id: _id,
    ...(options.name === undefined ? {} : { name: options.name }),
    rows: file?.rows ?? null,
    done: settled.rows,
    ...(pause === undefined ? {} : { pause: pauseDocument(pause) }),
  }));
  return { count: paused.length, jobs };
}

async function liveFields(context: ActionContext, organisationId: string) {
  const models = await new ModelStore(context.database).list(organisationId);
  return await vanishedFields(context, organisationId, { models, most: shown });
}

/** The valid keys that had no call for sixty days, those of the longest silence first. */
async function idleKeys({ database, clock }: ActionContext, organisationId: string) {
  const nowMs = clock.now();
  const idleSince = new Date(nowMs - idleDays * dayMs);
  const query = { createdUntil: idleSince, now: new Date(nowMs), most: mostKeys };
  const keys = await new ApiKeyStore(database).validSince(organisationId, query);
  if (keys.length === 0) return { count: 0, keys: [] };
  const uses = await new CallDayStore(database).lastUses(organisationId);
  const idle = keys
    .map((key) => ({ key, used: uses.get(key._id) }))
    .filter(({ used }) => used === undefined || used <= idleSince)
    .sort((one, other) => silenceOf(one) - silenceOf(other));
  const documents = idle.slice(0, shown).map(({ key: { _id, name, kind, created_at: created }, used }) => ({
    ...{ key_id: _id, name, kind, created_at: created.toISOString() },
    ...(used === undefined ? {} : { last_used_at: used.toISOString() }),
  }));
  return { count: idle.length, keys: documents };
}

const silenceOf = ({ key, used }: { readonly key: { readonly created_at: Date }; readonly used: Date | undefined }) =>
  (used ?? key.created_at).getTime();
