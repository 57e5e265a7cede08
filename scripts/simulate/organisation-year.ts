import { dayMs, dayNumber, dayStartMs } from '../../shared/contract/dates.js';
import type { StoredVerdict } from '../../shared/store/validation/model-validation.js';
import type { Outcome } from '../../shared/store/validation/outcomes.js';
import { gradeAndPublish } from '../../worker/grading/job/grade-models.js';
import { SimulatedLeads, type WeekOfLeads } from './simulated-leads.js';
import { type SimulatedService, startSimulatedService } from './simulated-service.js';

/** A day on which the state or the failing gate of the verdict changed. */
interface VerdictMove {
  /** Days since the organisation began. */
  readonly day: number;
  readonly state: StoredVerdict['state'];
  readonly failing_gate: StoredVerdict['failing_gate'];
  readonly summary: string;
}

export interface OrganisationYear {
  readonly moves: readonly VerdictMove[];
  readonly last: StoredVerdict;
  readonly records: number;
  readonly outcomes: number;
  readonly grades: number;
}

export interface YearOptions {
  readonly weeks: number;
  readonly leadsAWeek: number;
  readonly seed: number;
  /** Called after each week. */
  readonly progress: (weeksDone: number, verdict: StoredVerdict) => void;
  readonly signal: AbortSignal;
}

const weekDays = 7;

/**
 * Simulates a year of one organisation in minutes.
 * - Real: gateway, quota, queue, workers, ONNX, records, `POST /v1/outcomes`, MongoDB, the grader and its daily grades.
 * - Simulated: the dates (the gateway restarts each week with a later clock), the leads and their outcomes. The demo's
 *   generator knows the outcomes in advance; the model does not.
 */
export async function simulateOrganisation(options: YearOptions): Promise<OrganisationYear> {
  const endMs = dayStartMs(dayNumber(Date.now()));
  const startMs = endMs - options.weeks * weekDays * dayMs;
  const service = await startSimulatedService(startMs);
  try {
    return await simulateWeeks(service, startMs, options);
  } finally {
    await service.stop();
  }
}

async function simulateWeeks(
  service: SimulatedService,
  startMs: number,
  { weeks, leadsAWeek, seed, progress, signal }: YearOptions,
): Promise<OrganisationYear> {
  const leads = new SimulatedLeads({ seed, leadsAWeek });
  const moves: VerdictMove[] = [];
  const total = { records: 0, outcomes: 0, grades: 0 };
  let last: StoredVerdict | undefined;
  for (let week = 0; week < weeks && !signal.aborted; week += 1) {
    const weekMs = startMs + week * weekDays * dayMs;
    const reportedAtMs = weekMs + dayMs / 2;
    const brought = leads.week(week, { scoredAtMs: weekMs, reportedAtMs });
    await sendWeek(service, weekMs, brought);
    total.records += brought.records.length;
    total.outcomes += brought.outcomes.length;
    for (let day = 0; day < weekDays; day += 1) {
      const verdict = await gradeAt(service, weekMs + (day + 1) * dayMs);
      total.grades += 1;
      if (verdict.state !== last?.state || verdict.failing_gate !== last.failing_gate) {
        const { state, failing_gate, summary } = verdict;
        moves.push({ day: week * weekDays + day, state, failing_gate, summary });
      }
      last = verdict;
    }
    if (last !== undefined) progress(week + 1, last);
  }
  if (last === undefined) throw new Error('the simulation was interrupted before its first grade');
  return { moves, last, ...total };
}

async function sendWeek(service: SimulatedService, weekMs: number, { records, outcomes }: WeekOfLeads): Promise<void> {
  const { url } = await service.gatewayAt(weekMs);
  const { apiKey, model } = service.workspace;
  const post = async (path: string, body: unknown): Promise<void> => {
    const reply = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw new Error(`${path} was answered with ${reply.status}: ${await reply.text()}`);
  };
  for (const some of inThousands(records)) await post('/v1/score', { model_id: model._id, records: some });
  for (const some of inThousands(outcomes)) await post('/v1/outcomes', { outcomes: some.map(entryOf) });
}

const entryOf = ({ crmId, converted, at }: Outcome) => ({ crm_id: crmId, converted, at: at.toISOString() });

const inThousands = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / 1000) }, (_, part) => items.slice(part * 1000, (part + 1) * 1000));

async function gradeAt({ database, redis, workspace }: SimulatedService, nowMs: number): Promise<StoredVerdict> {
  const { model } = workspace;
  const deps = { database, redis, clock: { now: () => nowMs } };
  return (await gradeAndPublish(deps, { model, version: model.version })).verdict;
}
