import { expect } from 'chai';
import { pastRows } from '../../../../scripts/demo/tour/past-states.js';
import { type GeneratedLead, generateLeads } from '../../../../scripts/leads/lead-generator.js';
import { readBundle } from '../../../../shared/bundle/archive/read-bundle.js';
import type { BundleFiles } from '../../../../shared/bundle/bundle-files.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import type { Feature } from '../../../../shared/bundle/manifest/manifest.js';
import { dayMs, monthOf } from '../../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { CallDocuments, callDocuments } from '../../../../shared/store/calls/call-documents.js';
import { segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { compileModel, type LoadedModel } from '../../../../worker/models/loaded-model.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import type { TestWorkspace } from '../../../support/service/workspace.js';

/** The column by which the model below ranks leads. */
const rankedBy = 'Pages Per Visit';

/** A model that reads all fields of the demo's model, and hardly ranks leads. */
export async function weakBundle(): Promise<BundleFiles> {
  const { manifest } = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
  // A linear model knows no NaN.
  const features = manifest.features.map((feature): Feature => ('impute' in feature ? feature : imputed(feature)));
  const weights = new Array<number>(manifest.width).fill(0);
  const column = features.find(({ field }) => field === rankedBy)?.columns[0] ?? 0;
  weights[column] = 0.1;
  const { missing_tokens = [] } = manifest;
  // From none to some ten pages, so that scores fall into all bands.
  const quantiles = Array.from({ length: 101 }, (_, percentile) => 0.11 + 0.0009 * percentile);
  const own = { missing_tokens, quantiles };
  return sampleBundle({ version: '1.0.0', features, weights, intercept: -2, manifest: own });
}

const imputed = (feature: Feature): Feature =>
  feature.type === 'category' || feature.type === 'multi' ? feature : { ...feature, impute: 0 };

/** Days before today, and leads that are scored for the first time on each. */
export interface HistoryOptions {
  readonly days: readonly number[];
  readonly leadsPerDay: number;
}

/** A lead of the history, with its id. */
interface PastLead {
  readonly crmId: string;
  readonly lead: GeneratedLead;
  readonly atMs: number;
}

/**
 * Stores calls of the past as a gateway left them, with the scores of the workspace's model at that time.
 * @returns their leads, in the order of the calls
 */
export async function storeHistory(
  own: TestWorkspace,
  bundle: BundleFiles,
  { days, leadsPerDay }: HistoryOptions,
): Promise<PastLead[]> {
  const { manifest, onnx } = checkBundle(bundle);
  const model = await compileModel(manifest, onnx);
  try {
    const past: PastLead[] = [];
    for (const daysAgo of days) past.push(...(await storeCall(own, model, { daysAgo, count: leadsPerDay })));
    return past;
  } finally {
    await model.session.release();
  }
}

async function storeCall(
  { id: org, live, model: { _id: modelId, version }, service }: TestWorkspace,
  model: LoadedModel,
  { daysAgo, count }: { readonly daysAgo: number; readonly count: number },
): Promise<PastLead[]> {
  const atMs = service.clock.now() - daysAgo * dayMs;
  const now = new Date(atMs);
  const leads = generateLeads({ seed: daysAgo, count, now });
  // States, also of one record, are scored by the model.
  const states = new Map(leads.map((lead) => [lead, [{ fromMs: 0, record: named(lead, daysAgo) }]]));
  const unscored = { score: 0, conversion_likelihood: 0, enriched: false, crm_id: '' };
  const rows = await pastRows({ atMs, leads: leads.map((lead) => ({ lead, row: unscored })) }, { states, model });
  // A generator of its own: one makes ascending ids, also for an earlier time.
  const callId = callIdGenerator()(atMs, org);
  const segments = segmentsOf({
    ...{ callId, org, model: modelId, version, at: now },
    crmIds: rows.map(({ crmId }) => crmId),
    scores: rows.map(({ score }) => score),
    likelihoods: rows.map(({ likelihood }) => likelihood),
    fields: rows.map(({ fields }) => fields),
  });
  const call = { _id: callId, request_id: callId, org, key: live.key._id, bucket: 'live', at: now } as const;
  const row = { ...call, month: monthOf(atMs), records: rows.length, model: modelId, version };
  const { failed } = await new CallDocuments(service.stores.database).insertEach(
    callDocuments(row, segments),
    new AbortController().signal,
  );
  expect(failed.size).to.equal(0);
  return leads.map((lead, index) => ({ lead, atMs, crmId: rows[index]?.crmId ?? '' }));
}

const named = ({ record }: GeneratedLead, daysAgo: number) => ({ ...record, crm_id: `${daysAgo}-${record.crm_id}` });

/** Reports what became of leads: a conversion a month after the call. */
export async function reportOutcomes(own: TestWorkspace, leads: readonly PastLead[]): Promise<void> {
  const outcomes = leads.map(({ crmId, lead, atMs }) => ({
    ...{ crm_id: crmId, converted: lead.converted === 1 },
    at: new Date(atMs + 30 * dayMs).toISOString(),
  }));
  for (let from = 0; from < outcomes.length; from += 1_000) {
    const reply = await own.call('/v1/outcomes', { body: { outcomes: outcomes.slice(from, from + 1_000) } });
    expect(reply.status, reply.text).to.equal(200);
  }
}
