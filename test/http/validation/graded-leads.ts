import { expect } from 'chai';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { gradeAndPublish } from '../../../worker/grading/job/grade-models.js';
import { eventually } from '../../support/eventually.js';
import { httpCall } from '../../support/http/http-call.js';
import { scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import type { TestWorkspace } from '../../support/service/workspace.js';

/** Company sizes that the model of `sampleBundle()` scores 10, 30, 50, 70 and 90: one for each band. */
const sizeOfBand = [-120, 15, 100, 185, 320] as const;

/** The number of leads per band, and of conversions in each band. */
export interface LeadPlan {
  readonly perBand: number;
  readonly conversions: readonly number[];
}

/** A lead with its planned outcome. */
export interface PlannedLead {
  readonly crmId: string;
  readonly band: number;
  readonly converts: boolean;
}

/** The leads of a plan, with the bands interleaved. */
export function leadsOf({ perBand, conversions }: LeadPlan): PlannedLead[] {
  return Array.from({ length: perBand * 5 }, (_, index) => {
    const [band, number] = [index % 5, Math.floor(index / 5)];
    return { crmId: `lead-${band}-${number}`, band, converts: number < (conversions[band] ?? 0) };
  });
}

const scoredDaysAgo = 92; // longer than the horizon of 90 days

/** The instant at which the leads are scored, in ms. */
export const thenMs = ({ clock }: RunningService): number => clock.now() - scoredDaysAgo * dayMs;

/** Starts a gateway whose clock is at `thenMs`, so that its scores have matured. */
export const gatewayOfThen = (service: RunningService): Promise<ServiceProcess> =>
  service.startGateway({ CLOCK_OFFSET_MS: String(Math.round(thenMs(service) - Date.now())) });

/**
 * Scores leads in one call.
 * @param url of a `gatewayOfThen` if the scores are to have matured
 */
export async function scoreLeads(
  own: TestWorkspace,
  leads: readonly PlannedLead[],
  { url }: { readonly url: string | undefined },
): Promise<void> {
  const records = leads.map(({ crmId, band }) => ({ crm_id: crmId, company_size: sizeOfBand[band] }));
  const { scores } = scored(await own.score(records, { url }));
  expect(scores.map(({ score }) => Math.floor(score / 20))).to.deep.equal(leads.map(({ band }) => band));
}

/** Reports the outcomes of leads, dated `afterDays` after `thenMs`. */
export async function sendOutcomes(
  own: TestWorkspace,
  leads: readonly PlannedLead[],
  { afterDays = 30 }: { readonly afterDays?: number } = {},
): Promise<void> {
  const at = new Date(thenMs(own.service) + afterDays * dayMs).toISOString();
  for (let start = 0; start < leads.length; start += 1000) {
    const outcomes = leads
      .slice(start, start + 1000)
      .map(({ crmId, converts }) => ({ crm_id: crmId, converted: converts, at }));
    const reply = await httpCall(`${own.service.url()}/v1/outcomes`, {
      secret: own.live.secret,
      body: { outcomes },
    });
    expect(reply.status, reply.text).to.equal(200);
    expect(JSON.parse(reply.text)).to.include({ accepted: outcomes.length });
  }
}

/**
 * Grades the workspace's model as of `days` after `thenMs`, as `leadscore validation run --as-of` does. More than 92
 * days make it a rehearsal.
 */
export async function gradeAfter(own: TestWorkspace, days: number): Promise<void> {
  const { stores, clock, redis } = own.service;
  const { database } = stores;
  await gradeAndPublish(
    { database, clock, redis },
    { model: own.model, version: own.model.version },
    { asOfMs: thenMs(own.service) + days * dayMs },
  );
}

/** The verdict with its gates from `GET /v1/models/{id}`, once the gateways have received the last grade. */
export async function validationOf(own: TestWorkspace): Promise<ValidationBody> {
  const { _id: modelId, version } = own.model;
  const stored = await own.service.stores.validation.find(`${modelId}:${version}`, 5_000);
  return await eventually(async () => {
    const reply = await httpCall(`${own.service.url()}/v1/models/${modelId}`, {
      method: 'GET',
      secret: own.live.secret,
    });
    expect(reply.status, reply.text).to.equal(200);
    const { validation } = JSON.parse(reply.text) as { validation: ValidationBody };
    expect(validation.graded_at).to.equal(stored?.graded_at.toISOString());
    return validation;
  });
}

export interface ValidationBody {
  readonly state: string;
  readonly failing_gate: string | null;
  readonly summary: string;
  readonly as_of?: string;
  readonly graded_at?: string;
  readonly gates?: readonly {
    readonly gate: string;
    readonly state: string;
    readonly figures: Readonly<Record<string, number>>;
    readonly needs?: string;
  }[];
  readonly bands?: readonly {
    readonly scores: string;
    readonly records: number;
    readonly conversions: number;
    readonly rate: number;
    readonly low: number;
    readonly high: number;
  }[];
}

/** The figures of one gate. */
export function figuresOf(validation: ValidationBody, gate: string): Readonly<Record<string, number>> {
  const found = validation.gates?.find((each) => each.gate === gate);
  if (found === undefined) throw new Error(`no gate ${gate} in ${JSON.stringify(validation)}`);
  return found.figures;
}
