import type { Db } from 'mongodb';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { callsCollection, idsOfOrganisation, type PredictionSegment } from '../../store/calls/prediction-segment.js';
import { withMongoTimeout } from '../../store/connection/connect.js';
import { firstPage, nextPage } from '../../store/models/segment-pages.js';
import { defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { recentLeadsInput, recentLeadsOutput } from '../schemas/leads.js';
import { modelNames } from './model-names.js';
import { noteRead } from './note-read.js';

/** A list of more leads is no overview. */
const leadsShown = 10;
/** The newest predictions that are read. */
export const mostPredictions = 10_000;
/** The newest calls and parts of calls that are read: one of a single record costs as much as one of ten. */
export const mostSegments = 3_000;
/** After segments of single records may come some of a hundred: a page of more would be too many rows. */
const mostPerPage = 500;
const timeoutMs = 5_000;

/** A lead under one model, with its latest score among the predictions that were read. */
interface FoundLead {
  readonly crmId: string;
  readonly model: string;
  readonly at: Date;
  readonly score: number;
  /** The score before, if it was read. */
  before?: number;
}

interface Newest {
  readonly predictions: number;
  /** The time of the oldest one; undefined without any. */
  readonly since: Date | undefined;
  /** The latest one first. */
  readonly leads: readonly FoundLead[];
}

/** The leads that are shown before a search. The cost does not depend on the number of predictions. */
export const recentLeads = defineAction({
  name: 'lead.recent',
  description: 'List the newest, the highest and the most changed leads among the newest predictions, at most 10,000.',
  role: 'admin',
  effect: 'read',
  input: recentLeadsInput,
  output: recentLeadsOutput,
  async run(context, { org_id: organisationId }) {
    const { database } = context;
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const [{ predictions, since, leads }, names] = await Promise.all([
      readNewest(database, organisationId),
      modelNames(database, organisationId),
    ]);
    const newest = leads.slice(0, leadsShown);
    const highest = top(leads, ({ score }) => score);
    const changed = top(
      leads.filter((lead) => changeOf(lead) > 0),
      changeOf,
    );
    const listed = new Set([newest, highest, changed].flat().map(({ crmId }) => crmId));
    await noteRead(context, 'lead.recent', { organisationId, found: listed.size });
    const shown = (some: readonly FoundLead[]) =>
      some.map(({ crmId, model, at, score, before }) => ({
        ...{ crm_id: crmId, model_id: model, model_name: names.get(model) ?? null, score, scored_at: at.toISOString() },
        ...(before === undefined ? {} : { delta: score - before }),
      }));
    return {
      predictions,
      ...(since && { since: since.toISOString() }),
      ...{ newest: shown(newest), highest: shown(highest), changed: shown(changed) },
    };
  },
});

const changeOf = ({ score, before = score }: FoundLead): number => Math.abs(score - before);

/** Leads with the same figure stay in their order. */
const top = (leads: readonly FoundLead[], figure: (lead: FoundLead) => number): FoundLead[] =>
  leads.toSorted((one, other) => figure(other) - figure(one)).slice(0, leadsShown);

/**
 * Reads the newest segments backwards by their ids, in pages: the event loop goes on between them. MongoDB would take
 * twice as long to group the leads. A call of a test key has no predictions.
 */
async function readNewest(database: Db, org: string): Promise<Newest> {
  const calls = database.collection<Partial<PredictionSegment> & Pick<PredictionSegment, '_id'>>(callsCollection);
  const projection = { model: 1, at: 1, crm_ids: 1, scores: 1 } as const;
  const leads = new Map<string, FoundLead>();
  let [predictions, segments, size] = [0, 0, firstPage];
  let since: Date | undefined;
  let ids = idsOfOrganisation(org);
  await withMongoTimeout(timeoutMs, async (signal) => {
    while (predictions < mostPredictions && segments < mostSegments) {
      const limit = Math.min(size, mostSegments - segments);
      // A batch of the size of the page would take a round trip more.
      const options = { projection, hint: { _id: 1 } as const, batchSize: limit + 1, signal };
      const found = await calls.find({ _id: ids, org }, options).sort({ _id: -1 }).limit(limit).toArray();
      for (const { model = '', at, crm_ids: crmIds = [], scores = [] } of found) {
        // Later rows of a call come first, as for the latest score of a lead.
        for (let row = crmIds.length - 1; row >= 0 && predictions < mostPredictions; row -= 1) {
          predictions += 1;
          since = at;
          const [crmId, score = 0] = [crmIds[row], scores[row]];
          if (crmId === undefined || crmId === null || at === undefined) continue;
          const lead = leads.get(`${model}:${crmId}`);
          if (lead === undefined) leads.set(`${model}:${crmId}`, { crmId, model, at, score });
          else lead.before ??= score;
        }
      }
      const last = found.at(-1);
      if (last === undefined || found.length < limit) return;
      segments += found.length;
      ids = { ...ids, $lt: last._id };
      const columns = found.map(({ crm_ids = [] }) => ({ crm_ids }));
      size = Math.min(2 * limit, mostPerPage, nextPage(columns, mostPredictions - predictions));
    }
  });
  return { predictions, since, leads: [...leads.values()] };
}
