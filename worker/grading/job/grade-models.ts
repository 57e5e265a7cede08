import type { Comparison } from '../../../shared/contract/comparison/comparison-verdict.js';
import type { Clock } from '../../../shared/contract/dates.js';
import { horizonDaysOf } from '../../../shared/contract/verdict.js';
import { publishChange } from '../../../shared/redis/changes.js';
import type { Redis } from '../../../shared/redis/connect.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { loadManifest } from '../../../shared/store/models/model-versions.js';
import { compareCandidate } from '../compare/compare-candidate.js';
import { type Graded, gradeVersion } from './grade-version.js';
import { comparedRun, countedRun, type VersionToGrade } from './versions-to-grade.js';

export interface GradingDeps {
  readonly database: Db;
  readonly clock: Clock;
  /** Publishes new verdicts to running gateways; undefined: gateways read them from the change log. */
  readonly redis: Redis | undefined;
}

/**
 * Grades a version and publishes the verdict to the gateways, unless the grade is a rehearsal. A candidate is then
 * compared with the current version.
 * @param options `asOfMs`: date of the grade, now by default; a future date makes it a rehearsal
 * @throws Error if the version is not stored; MongoDB errors
 */
export async function gradeAndPublish(
  { database, clock, redis }: GradingDeps,
  { model, version, run }: VersionToGrade,
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
    candidateRun: countedRun({ model, version, run }),
  });
  if (redis !== undefined && !graded.isRehearsal)
    await publishChange(redis, { kind: 'validation', id: `${model._id}:${version}` }).catch(() => undefined);
  if (!graded.isRehearsal) await compareVersion({ database, clock }, { model, version, run });
  return graded;
}

/**
 * Compares a version with the one that scores calls, if it is a candidate whose run is complete.
 * @throws MongoDB errors
 */
export async function compareVersion(
  { database, clock }: Omit<GradingDeps, 'redis'>,
  compared: VersionToGrade,
): Promise<Comparison | undefined> {
  const run = comparedRun(compared);
  if (run === undefined) return undefined;
  const manifest = await loadManifest(database, run.model, run.version);
  const horizonDays = horizonDaysOf(manifest?.validation);
  return await compareCandidate({ database, run, horizonDays, nowMs: clock.now() });
}
