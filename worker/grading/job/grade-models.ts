import { dayMs } from '../../../shared/contract/dates.js';
import type { Clock } from '../../../shared/process/clock.js';
import { publishChange } from '../../../shared/redis/changes.js';
import type { Redis } from '../../../shared/redis/connect.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { listVersions, loadManifest } from '../../../shared/store/models/model-versions.js';
import type { Model } from '../../../shared/store/models/models.js';
import { isAhead, ValidationStore } from '../../../shared/store/validation/model-validation.js';
import { type Graded, gradeVersion } from './grade-version.js';

const readTimeoutMs = 10_000;
/** All grades become due every night at this hour, UTC. */
const nightlyHourMs = 2 * 60 * 60 * 1000;

export interface GradingDeps {
  readonly database: Db;
  readonly clock: Clock;
  /** Publishes new verdicts to running gateways; undefined: gateways notice them within a minute. */
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
): Promise<(VersionToGrade & { readonly importedAt: Date })[]> {
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
  const found = [];
  for (const model of models)
    for (const { version, imported_at: importedAt } of await listVersions(database, model._id))
      found.push({ model, version, importedAt });
  return found;
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
    await publishChange(redis, { kind: 'validation', id: model._id }).catch(() => undefined);
  return graded;
}

/** Lists the versions that were not graded since last night, or whose verdict is of a future date. */
export async function dueVersions(database: Db, clock: Clock): Promise<readonly VersionToGrade[]> {
  const nowMs = clock.now();
  const store = new ValidationStore(database);
  const due = [];
  for (const candidate of await versionsToGrade(database)) {
    const stored = await store.find(`${candidate.model._id}:${candidate.version}`, readTimeoutMs);
    const sinceMs = Math.max(stored?.graded_at.getTime() ?? 0, candidate.importedAt.getTime());
    const isOfFuture = stored !== undefined && isAhead(stored, nowMs);
    if (isOfFuture || sinceMs < lastNightMs(nowMs)) due.push(candidate);
  }
  return due;
}

/** The last instant at which all grades became due. */
export const lastNightMs = (nowMs: number): number =>
  Math.floor((nowMs - nightlyHourMs) / dayMs) * dayMs + nightlyHourMs;
