import { countText } from '../../../contract/figures.js';
import type { ShapeOf } from '../../../contract/schema.js';
import type { Db } from '../../../store/connection/connect.js';
import { type CandidateRun, CandidateRunStore } from '../../../store/models/candidate-runs.js';
import type { Model } from '../../../store/models/models.js';
import type { modelSchema } from '../../schemas/models.js';

type RunDocument = NonNullable<ShapeOf<typeof modelSchema>['candidate_run']>;

/** The run of a candidate that was not dropped. */
type CurrentRun = CandidateRun & { readonly state: RunDocument['state'] };

const waiting = 'The run begins within seconds, once a runner of bulk jobs has found the candidate.';

/** The run of a model's candidate against its current version; undefined until a runner has begun it. */
export async function currentRunOf(
  database: Db,
  { _id: modelId, version: base, candidate }: Model,
): Promise<CurrentRun | undefined> {
  if (candidate === undefined) return undefined;
  const run = await new CandidateRunStore(database).find(modelId, candidate.version);
  // A run of another base, or of an earlier candidacy, is about to begin again.
  if (run?.base !== base || Number(run.since) !== Number(candidate.since) || run.state === 'dropped') return undefined;
  return { ...run, state: run.state };
}

/** How far the candidate of a model has scored recorded leads; undefined for a model without one. */
export const candidateRunOf = async (database: Db, model: Model): Promise<RunDocument | undefined> =>
  model.candidate && runDocument(model, await currentRunOf(database, model));

/** A run as replies have it. @param run undefined until a runner has begun it */
export function runDocument({ version: base }: Model, run: CurrentRun | undefined): RunDocument {
  if (run === undefined) return { state: 'waiting', base, rows: 0, seen: 0, refused: 0, total: null, summary: waiting };
  const { state, rows, seen, refused, total = null } = run;
  return { state, base, rows, seen, refused, total, summary: summaryOf(run) };
}

/** The state of a run in words. */
function summaryOf({ state, rows, seen, refused, total, message }: CandidateRun): string {
  if (state === 'failed') return `The run failed. ${message ?? ''}`.trim();
  if (total === undefined) return 'The run counts the leads that were scored in the last 365 days.';
  const others = [
    ...(seen > 0 ? [`${leads(seen)} may be among those that it was trained on.`] : []),
    ...(refused > 0 ? [`It cannot score ${leads(refused)}.`] : []),
  ].join(' ');
  if (state === 'completed') return `The candidate has scored ${leads(rows)}. ${others}`.trim();
  const left = Math.max(0, total - rows - refused);
  return `The candidate has scored ${countText(rows)} of ${leads(total)}, and ${countText(left)} are left. ${others}`.trim();
}

const leads = (count: number): string => `${countText(count)} ${count === 1 ? 'lead' : 'leads'}`;
