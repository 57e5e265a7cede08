import { publishChange } from '../../shared/changes.js';
import type { Clock } from '../../shared/clock.js';
import type { Redis } from '../../shared/redis.js';
import type { Db } from '../../shared/store/connect.js';
import { type StoredVerdict, ValidationStore } from '../../shared/store/model-validation.js';
import { listVersions, loadManifest } from '../../shared/store/model-versions.js';
import type { Model } from '../../shared/store/models.js';
import { dayMs } from '../../shared/utc-day.js';
import { type Graded, gradeVersion } from './grade-version.js';

const readTimeoutMs = 10_000;
/** Grades are due every night at this hour, UTC. */
const nightlyHourMs = 2 * 60 * 60 * 1000;
/** A verdict as of a later date than today is a rehearsal; it is left alone for as long as it says anything. */
const rehearsalMs = 3 * dayMs;

export interface GradingRooms {
  readonly database: Db;
  readonly clock: Clock;
  /** Where running gateways are told of new verdicts; undefined: they notice within a minute. */
  readonly redis: Redis | undefined;
}

/** A version of a model that is graded. */
export interface VersionToGrade {
  readonly model: Model;
  readonly version: string;
}

/** The versions that are graded: of all models that are there and not of the timing family. */
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
 * Grades a version and tells the gateways.
 * @param options `asOfMs`: the clock of the grade, the service's own by default
 * @throws Error when the version is not stored; what MongoDB says
 */
export async function gradeAndTell(
  { database, clock, redis }: GradingRooms,
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
  if (redis !== undefined)
    await publishChange(redis, { kind: 'validation', id: model._id }).catch(() => undefined);
  return graded;
}

/** Of some versions, those that have not been graded since last night. */
export async function dueVersions(database: Db, clock: Clock): Promise<readonly VersionToGrade[]> {
  const nowMs = clock.now();
  const store = new ValidationStore(database);
  const due = [];
  for (const candidate of await versionsToGrade(database)) {
    const stored = await store.find(`${candidate.model._id}:${candidate.version}`, readTimeoutMs);
    const sinceMs = Math.max(stored?.graded_at.getTime() ?? 0, candidate.importedAt.getTime());
    if (sinceMs < lastNightMs(nowMs)) due.push(candidate);
  }
  return due;
}

/** Whether a verdict is a rehearsal (`--as-of` a later date) that a grade by itself should not undo. */
export function isRehearsal(stored: StoredVerdict | undefined, nowMs: number): boolean {
  if (stored?.grade === undefined) return false;
  const isAhead = stored.grade.as_of.getTime() > Math.max(nowMs, stored.graded_at.getTime());
  return isAhead && nowMs - stored.graded_at.getTime() < rehearsalMs;
}

/** The last moment at which all grades fell due. */
export const lastNightMs = (nowMs: number): number =>
  Math.floor((nowMs - nightlyHourMs) / dayMs) * dayMs + nightlyHourMs;
