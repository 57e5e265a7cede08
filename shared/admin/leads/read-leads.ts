import type { Db } from 'mongodb';
import { salesforceIdOf, storedCrmId } from '../../contract/crm-id.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { callsCollection, type PredictionSegment } from '../../store/calls/prediction-segment.js';
import { PredictionStore } from '../../store/calls/predictions.js';
import { readRecentScores } from '../../store/calls/recent-scores.js';
import { scoredAmong } from '../../store/calls/scored-leads.js';
import { withMongoTimeout } from '../../store/connection/connect.js';
import { leadIndexOf } from '../../store/lead-index/lead-index.js';
import { OutcomeStore } from '../../store/validation/outcomes.js';
import { defineAction } from '../action.js';
import { AdminError } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { leadInput, leadSchema, searchLeadsInput, searchLeadsOutput } from '../schemas/leads.js';
import { changedFields, earlierOf } from './changed-fields.js';
import { modelNames } from './model-names.js';
import { noteRead } from './note-read.js';

const leadsShown = 20;
const scoresPerLead = 5;
const scoresPerPage = 20;
const timeoutMs = 5_000;
/** Greater than any character that may follow a prefix. */
const lastCharacter = '\u{10ffff}';

/** Finds leads by the beginning of their crm_id, with the latest scores of each. */
export const searchLeads = defineAction({
  name: 'lead.search',
  description: 'Find scored leads by the beginning of their crm_id, with their latest scores.',
  role: 'admin',
  effect: 'read',
  input: searchLeadsInput,
  output: searchLeadsOutput,
  async run(context, { org_id: organisationId, prefix }) {
    const { database } = context;
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const crmIds = await leadsOf(database, organisationId, prefix);
    const [recent, names] = await Promise.all([
      readRecentScores(database, { organisationId, crmIds, mostScores: scoresPerLead, timeoutMs }),
      modelNames(database, organisationId),
    ]);
    await noteRead(context, 'lead.search', { organisationId, found: crmIds.length });
    return {
      leads: crmIds.map((crm_id) => {
        const found = recent.get(crm_id);
        if (found === undefined) return { crm_id };
        const { model, version, at, scores, models } = found;
        const latest = {
          ...{ model_id: model, model_name: names.get(model) ?? null, version, score: scores[0] ?? 0 },
          ...{ scored_at: at.toISOString(), scores: scores.toReversed(), other_models: models - 1 },
        };
        return { crm_id, latest };
      }),
    };
  },
});

/** The leads whose id begins with a text, in each form of the id. A Salesforce id in its other form comes first. */
async function leadsOf(database: Db, organisationId: string, prefix: string): Promise<string[]> {
  const other = salesforceIdOf(prefix);
  const [begun, others] = await Promise.all([
    leadsFrom(database, organisationId, prefix),
    other === undefined ? [] : scoredAmong(database, { organisationId, crmIds: [other] }),
  ]);
  return [...new Set([...others, ...begun])].slice(0, leadsShown);
}

/**
 * One index seek a lead. A sort, or bounds without `$elemMatch`, would read far more of the index. MongoDB picks the
 * lead from its segment, because decoding a hundred ids takes this process longer.
 */
async function leadsFrom(database: Db, org: string, prefix: string): Promise<string[]> {
  const calls = database.collection<PredictionSegment>(callsCollection);
  const before = prefix + lastCharacter;
  const found: string[] = [];
  await withMongoTimeout(timeoutMs, async (signal) => {
    const { key, segmentsOf } = await leadIndexOf(database);
    for (let last: string | undefined; found.length < leadsShown; found.push(last)) {
      const [bound, operator] = last === undefined ? [prefix, '$gte' as const] : [last, '$gt' as const];
      const among = { ...segmentsOf(org), crm_ids: { $elemMatch: { [operator]: bound, $lt: before } } };
      const isAmong = [{ [operator]: ['$$this', { $literal: bound }] }, { $lt: ['$$this', { $literal: before }] }];
      const first = { $min: { $filter: { input: '$crm_ids', cond: { $and: isAmong } } } };
      const options = { hint: key, projection: { _id: 0, first }, signal } as const;
      last = (await calls.findOne<{ readonly first: string }>(among, options))?.first;
      if (last === undefined) return;
    }
  });
  return found;
}

/** The history of a lead, with the fields that changed before each score. */
export const showLead = defineAction({
  name: 'lead.show',
  description: "Read a lead's scores, latest first, with the fields that changed before each, and its outcome.",
  role: 'admin',
  effect: 'read',
  input: leadInput,
  output: leadSchema,
  async run(context, { org_id: organisationId, crm_id: named, before }) {
    const { database } = context;
    const crmId = storedCrmId(named);
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const predictions = new PredictionStore(database);
    const page = { organisationId, crmId, modelId: undefined, before, limit: scoresPerPage, timeoutMs };
    const [{ scores, isLast }, outcome, names] = await Promise.all([
      predictions.history(page),
      new OutcomeStore(database).find(organisationId, crmId),
      modelNames(database, organisationId),
    ]);
    if (scores.length === 0 && outcome === undefined && before === undefined)
      throw new AdminError('not_found', 'Nothing has been scored under this crm_id.');
    await noteRead(context, 'lead.show', { organisationId, crmId });
    const changed = await changedFields(database, scores);
    const last = scores.at(-1);
    return {
      crm_id: named,
      scores: scores.map((score, index) => {
        const earlier = earlierOf(scores, index);
        const fields = changed.get(score.id);
        return {
          model_id: score.model,
          model_name: names.get(score.model) ?? null,
          version: score.version,
          score: score.score,
          conversion_likelihood: score.likelihood / 10_000,
          scored_at: score.at.toISOString(),
          ...(earlier === undefined ? {} : { delta: score.score - earlier.score }),
          ...(fields === undefined ? {} : { changed: fields }),
        };
      }),
      ...(outcome === undefined ? {} : { outcome: { converted: outcome.converted, at: outcome.at.toISOString() } }),
      ...(isLast || last === undefined ? {} : { next: last.id }),
    };
  },
});
