import type { Clock } from '../../../shared/contract/dates.js';
import { publishChange } from '../../../shared/redis/changes.js';
import type { Redis } from '../../../shared/redis/connect.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { loadManifest, versionsByModel } from '../../../shared/store/models/model-versions.js';
import type { Model } from '../../../shared/store/models/models.js';
import { type Graded, gradeVersion } from './grade-version.js';

export interface GradingDeps {
  readonly database: Db;
  readonly clock: Clock;
  /** Publishes new verdicts to running gateways; undefined: gateways read them from the change log. */
  readonly redis: Redis | undefined;
}

/** A model version to grade. */
export interface VersionToGrade {
  readonly model: Model;
  readonly version: string;
}

/** Lists the versions to grade: all versions of models that are not deleted and not of the timing family. */
export async function versionsToGrade(
  database: Db,
  which: { readonly organisationId?: string; readonly modelId?: string } = {},
): Promise<VersionToGrade[]> {
  const { organisationId, modelId } = which;
  const models = await database
    .collection<Model>('models')
    .find({
      family: 'forward',
      deleted_at: { $exists: false },
      ...(organisationId === undefined ? {} : { organisation_id: organisationId }),
      ...(modelId === undefined ? {} : { _id: modelId }),
    })
    .sort({ created_at: 1, _id: 1 })
    .toArray();
  const versions = await versionsByModel(database, modelId);
  return models.flatMap((model) => (versions.get(model._id) ?? []).map((version) => ({ model, version })));
}

/**
 * Grades a version and publishes the verdict to the gateways, unless the grade is a rehearsal.
 * @param options `asOfMs`: date of the grade, now by default; a future date makes it a rehearsal
 * @throws Error if the version is not stored; MongoDB errors
 */
export async function gradeAndPublish(
  { database, clock, redis }: GradingDeps,
  { model, version }: VersionToGrade,
  options: { readonly asOfMs?: number; readonly rebuild?: boolean } = {},
): Promise<Graded> {
  const manifest = await loadManifest(database, model._id, version);
  if (manifest === undefined) throw new Error(`version ${version} of ${model._id} is not stored`);
  const nowMs = clock.now();
  const graded = await gradeVersion({
    database,
    organisationId: model.organisation_id,
    modelId: model._id,
    version,
    facts: manifest.validation,
    asOfMs: options.asOfMs ?? nowMs,
    nowMs,
    rebuild: options.rebuild ?? false,
  });
  if (redis !== undefined && !graded.isRehearsal)
    await publishChange(redis, { kind: 'validation', id: `${model._id}:${version}` }).catch(() => undefined);
  return graded;
}
