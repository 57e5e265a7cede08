import type { Db } from '../../../shared/store/connection/connect.js';
import { type CandidateRun, CandidateRunStore } from '../../../shared/store/models/candidate-runs.js';
import { versionId, versionsByModel } from '../../../shared/store/models/model-versions.js';
import type { Model } from '../../../shared/store/models/models.js';
import { DeletionStore } from '../../../shared/store/organisations/deletions.js';

/** A model version to grade. */
export interface VersionToGrade {
  readonly model: Model;
  readonly version: string;
  /** Its run as a candidate, also one that has ended. */
  readonly run?: CandidateRun | undefined;
}

/**
 * Lists the versions to grade: all versions of models that are not deleted and not of the timing family. An
 * organisation that is to be deleted has none.
 */
export async function versionsToGrade(
  database: Db,
  which: { readonly organisationId?: string; readonly modelId?: string } = {},
): Promise<VersionToGrade[]> {
  const { organisationId, modelId } = which;
  // A grade that is under way must not be stored after the removal.
  const going = await new DeletionStore(database).unfinished();
  const models = await database
    .collection<Model>('models')
    .find({
      family: 'forward',
      deleted_at: { $exists: false },
      organisation_id: { $nin: going, ...(organisationId === undefined ? {} : { $eq: organisationId }) },
      ...(modelId === undefined ? {} : { _id: modelId }),
    })
    .sort({ created_at: 1, _id: 1 })
    .toArray();
  const versions = await versionsByModel(database, modelId);
  const runs = new Map((await new CandidateRunStore(database).list(modelId)).map((run) => [run._id, run]));
  return models.flatMap((model) =>
    (versions.get(model._id) ?? []).map((version) => {
      const run = runs.get(versionId(model._id, version));
      return { model, version, ...(run && { run }) };
    }),
  );
}

/**
 * Names the scores that a version has made as a candidate, and that its grade counts like calls: those of a completed
 * run. They still count once the version scores calls. The days of a grade that counted others are recomputed.
 * @returns undefined if none count. The current version as its own candidate would count its calls twice
 */
export function countedRun({ model, version, run }: VersionToGrade): string | undefined {
  if (run?.state !== 'completed' || run.base === version) return undefined;
  if (model.version !== version && model.candidate?.version !== version) return undefined;
  return `${run.started_at.toISOString()} ${run.ended_at?.toISOString() ?? ''}`;
}

/** Whether a version is a candidate that still scores: its grade waits for the end of the run. */
export const isStillScoring = ({ model, version, run }: VersionToGrade): boolean =>
  run?.state === 'running' && model.version !== version && model.candidate?.version === version;

/** The run whose scores are compared with the current version: that of the candidate, once it is complete. */
export function comparedRun({ model, version, run }: VersionToGrade): CandidateRun | undefined {
  const isComplete = run?.state === 'completed' && run.base === model.version;
  return isComplete && model.candidate?.version === version ? run : undefined;
}

/** Whether a candidate was not compared since its run has ended. */
export const lacksComparison = (version: VersionToGrade): boolean => {
  const run = comparedRun(version);
  return run !== undefined && run.comparison === undefined;
};
