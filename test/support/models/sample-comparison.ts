import type { Db } from '../../../shared/store/connection/connect.js';
import type { CandidateRun, StoredComparison } from '../../../shared/store/models/candidate-runs.js';
import { ModelStore } from '../../../shared/store/models/models.js';

/** A candidate that is better than version 1.0.0. */
export const sampleComparison: StoredComparison = {
  ...{ base: '1.0.0', candidate: '2.0.0', scored: 50_350, seen: 9_120, leads: 41_230, conversions: 412 },
  ...{ horizon_days: 90, moved: 0.31, psi: { value: 0.04, chance_99: 0.000527 } },
  moves: [
    [9_000, 1_000, 70, 0, 0],
    [1_000, 8_000, 1_000, 70, 0],
    [70, 1_000, 7_930, 1_000, 70],
    [0, 70, 1_000, 8_000, 1_000],
    [0, 0, 70, 1_000, 9_000],
  ],
  lift: { base: [2.4, 2.1, 2.7], candidate: [2.9, 2.6, 3.2], difference: [0.5, 0.2, 0.8] },
  auc: { base: [0.71, 0.69, 0.73], candidate: [0.74, 0.72, 0.76], difference: [0.03, 0.01, 0.05] },
  ...{ missing_fields: [], verdict: 'better', judged_conversions: 400 },
  compared_at: new Date(Date.UTC(2026, 4, 10)),
};

/**
 * Stores the completed run of a model's candidate with its comparison, as a runner and a grade leave them.
 * @param changed members of the comparison to replace; null stores none
 */
export async function storeComparedRun(
  database: Db,
  modelId: string,
  changed: Partial<StoredComparison> | null = {},
  of: Partial<CandidateRun> = {},
): Promise<void> {
  const model = await new ModelStore(database).find(modelId);
  if (model?.candidate === undefined) throw new Error(`${modelId} has no candidate`);
  const { version, since } = model.candidate;
  const run: CandidateRun = {
    ...{ _id: `${modelId}:${version}`, org: model.organisation_id, model: modelId, version, since },
    ...{ base: model.version, state: 'completed', from_id: 'a', until_id: 'b', started_at: new Date() },
    ...{ total: 50_350, rows: 50_350, seen: 9_120, refused: 0 },
    ...(changed && { comparison: { ...sampleComparison, base: model.version, candidate: version, ...changed } }),
    ...of,
  };
  await database.collection<CandidateRun>('candidate_runs').replaceOne({ _id: run._id }, run, { upsert: true });
}
