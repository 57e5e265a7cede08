import type { Document } from 'mongodb';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { callsCollection, idsOfOrganisation } from '../../store/calls/prediction-segment.js';
import { withMongoTimeout } from '../../store/connection/connect.js';
import { defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { recentLeadsInput, recentLeadsOutput } from '../schemas/leads.js';
import { modelNames } from './model-names.js';
import { noteRead } from './note-read.js';

/** A list of more leads is no overview. */
const leadsShown = 10;
/** The newest predictions, and also the newest calls and parts of calls, that are read. */
export const mostRead = 10_000;
const timeoutMs = 5_000;

/** A lead under one model, with its latest score among the predictions that were read. */
interface FoundLead {
  readonly _id: { readonly crm_id: string; readonly model: string };
  readonly at: Date;
  /** The latest score, and the one before if it was read. */
  readonly scores: readonly number[];
}

interface Found {
  readonly newest: readonly FoundLead[];
  readonly highest: readonly FoundLead[];
  readonly changed: readonly FoundLead[];
  readonly read: readonly { readonly predictions: number; readonly since: Date }[];
}

/** The leads that are shown before a search. The cost does not depend on the number of predictions. */
export const recentLeads = defineAction({
  name: 'lead.recent',
  description: 'List the newest, the highest and the most changed leads among the newest 10,000 predictions.',
  role: 'admin',
  effect: 'read',
  input: recentLeadsInput,
  output: recentLeadsOutput,
  async run(context, { org_id: organisationId }) {
    const { database } = context;
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const calls = database.collection(callsCollection);
    const reading = withMongoTimeout(timeoutMs, (signal) =>
      // The cursor obeys `signal`, although the type of the options lacks it.
      calls.aggregate<Found>(recentPipeline(organisationId), { signal } as object).next(),
    );
    const [found, names] = await Promise.all([reading, modelNames(database, organisationId)]);
    const [read] = found?.read ?? [];
    const listed = [found?.newest, found?.highest, found?.changed].flatMap((leads = []) =>
      leads.map(({ _id }) => _id.crm_id),
    );
    await noteRead(context, 'lead.recent', { organisationId, found: new Set(listed).size });
    const shown = (leads: readonly FoundLead[] = []) =>
      leads.map(({ _id: { crm_id, model }, at, scores: [score = 0, before] }) => ({
        ...{ crm_id, model_id: model, model_name: names.get(model) ?? null, score, scored_at: at.toISOString() },
        ...(before === undefined ? {} : { delta: score - before }),
      }));
    return {
      predictions: read?.predictions ?? 0,
      ...(read && { since: read.since.toISOString() }),
      newest: shown(found?.newest),
      highest: shown(found?.highest),
      changed: shown(found?.changed),
    };
  },
});

/** Reads the newest segments backwards by their ids. A call of a test key has no predictions. */
export function recentPipeline(organisationId: string): Document[] {
  const latestFirst = { segment: -1, '_id.crm_id': 1 };
  const withId = { '_id.crm_id': { $ne: null } };
  const top = (...stages: Document[]) => [{ $match: withId }, ...stages, { $limit: leadsShown }];
  const delta = { $abs: { $subtract: [{ $first: '$scores' }, { $last: '$scores' }] } };
  return [
    { $match: { _id: idsOfOrganisation(organisationId), org: organisationId } },
    { $sort: { _id: -1 } },
    { $limit: mostRead },
    // Later rows of a call come first, as for the latest score of a lead.
    { $project: { model: 1, at: 1, row: { $reverseArray: { $zip: { inputs: ['$crm_ids', '$scores'] } } } } },
    { $unwind: '$row' },
    { $limit: mostRead },
    {
      $group: {
        _id: { crm_id: { $first: '$row' }, model: '$model' },
        segment: { $first: '$_id' },
        at: { $first: '$at' },
        oldest: { $last: '$at' },
        predictions: { $sum: 1 },
        scores: { $firstN: { input: { $last: '$row' }, n: 2 } },
      },
    },
    {
      $facet: {
        newest: top({ $sort: latestFirst }),
        highest: top({ $set: { score: { $first: '$scores' } } }, { $sort: { score: -1, ...latestFirst } }),
        changed: top({ $set: { delta } }, { $match: { delta: { $gt: 0 } } }, { $sort: { delta: -1, ...latestFirst } }),
        read: [{ $group: { _id: null, predictions: { $sum: '$predictions' }, since: { $min: '$oldest' } } }],
      },
    },
  ];
}
