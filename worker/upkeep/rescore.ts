import { createHash } from 'node:crypto';
import { type Clock, dayNumber, dayText } from '../../shared/contract/dates.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import type { Logger } from '../../shared/process/logger.js';
import { ApiKeyStore } from '../../shared/store/accounts/api-keys.js';
import type { Db } from '../../shared/store/connection/connect.js';
import { createJob } from '../../shared/store/jobs/create-job.js';
import { hasEnded, jobLimits } from '../../shared/store/jobs/job-documents.js';
import { storedLimits } from '../../shared/store/jobs/job-options.js';
import { JobStore } from '../../shared/store/jobs/jobs.js';
import { jobDocument, keyProblem, optionsOfStored } from '../../shared/store/jobs/new-job.js';
import { type Model, ModelStore, type Rescoring } from '../../shared/store/models/models.js';

export interface RescoreDeps {
  readonly database: Db;
  readonly clock: Clock;
  readonly logger: Logger;
}

const newCallId = callIdGenerator();

/**
 * Creates the jobs of stored leads that are due: after another version of a model has come to score calls, or on each
 * UTC day. A job has an Idempotency-Key, so a pool that was killed, or another one at the same time, creates no second
 * one. A setting ends when its key may no longer create such jobs. It waits while its organisation is to be deleted, or
 * has too many unfinished jobs.
 * @throws errors of MongoDB
 */
export async function createDueJobs(deps: RescoreDeps): Promise<void> {
  for (const model of await new ModelStore(deps.database).withRescoring())
    if (model.rescore !== undefined) await createIfDue(model, model.rescore, deps);
}

async function createIfDue(model: Model, setting: Rescoring, { database, clock, logger }: RescoreDeps): Promise<void> {
  const now = new Date(clock.now());
  const models = new ModelStore(database);
  const noted = { _id: model._id, since: setting.since };
  const key = await new ApiKeyStore(database).find(setting.key);
  // The organisation is to be deleted. When that is taken back, its settings go on.
  if (key?.withdrawn) return;
  const reason = keyProblem(key, model.organisation_id, now);
  if (key === undefined || reason !== undefined) {
    await models.noteRescoring(noted, { ended: { at: now, reason: reason ?? 'The key no longer exists.' } });
    logger.warn(
      { model: model._id, key: setting.key, reason },
      'the service no longer scores the stored leads of a model again',
    );
    return;
  }
  const due = setting.when === 'nightly' ? dayText(dayNumber(now.getTime())) : model.version;
  if (due === setting.done_for) return;
  const jobs = new JobStore(database);
  const last = setting.job === undefined ? undefined : await jobs.findById(setting.job);
  // A job that waits for room in the month would be followed by one each night.
  if (last !== undefined && !hasEnded(last)) return;
  const idempotencyKey = `rescore:${model._id}:${due}`;
  const options = optionsOfStored(
    { sent_within_days: storedLimits.defaultDays, max_rows: setting.at_most },
    jobLimits.defaultMaxErrors,
  );
  const bodyHash = createHash('sha256')
    .update(JSON.stringify({ model: model._id, due, options }))
    .digest('hex');
  const job = jobDocument({
    callId: newCallId(now.getTime(), model.organisation_id),
    apiKey: key,
    atMs: now.getTime(),
    idempotency: { key: idempotencyKey, bodyHash },
    ...{ model: model._id, version: model.version, options },
  });
  const outcome = await createJob(database, job, jobLimits.unfinishedJobs);
  if (outcome === 'too many') {
    logger.warn(
      { model: model._id, due },
      'no job of stored leads was created: the organisation has too many unfinished jobs; retrying in a minute',
    );
    return;
  }
  const owner = { organisationId: model.organisation_id, bucket: key.kind };
  const stored = outcome === 'created' ? job : await jobs.findByKey(owner, idempotencyKey);
  await models.noteRescoring(noted, { done_for: due, ...(stored !== undefined && { job: stored._id }) });
  logger.info({ model: model._id, job: stored?._id, due }, 'bulk job of stored leads created');
}
