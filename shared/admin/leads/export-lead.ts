import type { Db } from 'mongodb';
import { storedCrmId } from '../../contract/crm-id.js';
import type { ShapeOf } from '../../contract/schema.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { readStoredRecords } from '../../store/calls/lead-lookup.js';
import { callIdOf } from '../../store/calls/prediction-segment.js';
import { type PastScore, PredictionStore } from '../../store/calls/predictions.js';
import { SliceStore } from '../../store/jobs/job-slices.js';
import { OutcomeStore } from '../../store/validation/outcomes.js';
import { defineAction } from '../action.js';
import { AdminError } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { exportLeadOutput, leadInput } from '../schemas/leads.js';
import { modelNames } from './model-names.js';
import { fieldNames } from './named-fields.js';
import { noteRead } from './note-read.js';

type ExportedScore = ShapeOf<typeof exportLeadOutput>['scores'][number];

const scoresPerPage = 50;
const timeoutMs = 5_000;

/** All that is stored of a person, for the person who asks. Reasons are not stored. */
export const exportLead = defineAction({
  name: 'lead.export',
  description: 'Read all that is stored of a lead: each score with its fields, version, call and job, and the outcome.',
  role: 'admin',
  effect: 'read',
  input: leadInput,
  output: exportLeadOutput,
  async run(context, { org_id: organisationId, crm_id: named, before }) {
    const { database } = context;
    const crmId = storedCrmId(named);
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const page = { organisationId, crmId, modelId: undefined, before, limit: scoresPerPage, timeoutMs };
    const [{ scores, isLast }, outcome] = await Promise.all([
      new PredictionStore(database).history(page),
      new OutcomeStore(database).find(organisationId, crmId),
    ]);
    if (scores.length === 0 && outcome === undefined && before === undefined)
      throw new AdminError('not_found', 'Nothing is stored under this crm_id.');
    await noteRead(context, 'lead.export', { organisationId, crmId });
    const last = scores.at(-1);
    return {
      crm_id: crmId,
      scores: await exported(database, organisationId, scores),
      ...(outcome === undefined
        ? {}
        : {
            outcome: {
              converted: outcome.converted,
              at: outcome.at.toISOString(),
              received_at: outcome.received_at.toISOString(),
            },
          }),
      ...(isLast || last === undefined ? {} : { next: last.id }),
    };
  },
});

/** @param scores of one lead */
async function exported(database: Db, organisationId: string, scores: readonly PastScore[]): Promise<ExportedScore[]> {
  const callIds = [...new Set(scores.map(({ id }) => callIdOf(id)))];
  const [records, jobs, names] = await Promise.all([
    readStoredRecords(
      database,
      scores.map(({ id }) => id),
      timeoutMs,
    ),
    new SliceStore(database).jobsOfCalls(organisationId, callIds),
    modelNames(database, organisationId),
  ]);
  const namesOf = fieldNames(database);
  const found: ExportedScore[] = [];
  for (const { id, model, version, score, likelihood, at } of scores) {
    const record = records.get(id);
    // Several records share the limit of a read. One that exceeds its share fits alone.
    const isCut = record !== undefined && record.fields === undefined;
    const whole = isCut ? (await readStoredRecords(database, [id], timeoutMs)).get(id) : record;
    const job = jobs.get(callIdOf(id));
    found.push({
      ...{ call_id: callIdOf(id), ...(job === undefined ? {} : { job_id: job }) },
      ...{ model_id: model, model_name: names.get(model) ?? null, version },
      ...{ score, conversion_likelihood: likelihood / 10_000, scored_at: at.toISOString() },
      fields: (await namesOf(model, version))(whole?.fields),
    });
  }
  return found;
}
