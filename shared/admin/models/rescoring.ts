import { dayNumber, dayText } from '../../contract/dates.js';
import type { ShapeOf } from '../../contract/schema.js';
import { ApiKeyStore } from '../../store/accounts/api-keys.js';
import { keyProblem } from '../../store/jobs/new-job.js';
import type { Model, Rescoring } from '../../store/models/models.js';
import type { ActionContext } from '../action.js';
import { invalid } from '../admin-error.js';
import type { rescoringInput, rescoringSchema } from '../schemas/jobs.js';

/**
 * The setting that a person gives. It begins with the next version, or with the next UTC day.
 * @param version the one that scores calls after the change
 * @throws AdminError invalid_request for a key that may not create such jobs
 */
export async function newRescoring(
  { database, session, actor, clock }: ActionContext,
  model: Pick<Model, 'organisation_id'> & { readonly version: string },
  { when, key_id: keyId, at_most }: NonNullable<ShapeOf<typeof rescoringInput>>,
): Promise<Rescoring> {
  const now = new Date(clock.now());
  const key = await new ApiKeyStore(database, session).find(keyId);
  const problem = keyProblem(key, model.organisation_id, now);
  if (problem !== undefined) throw invalid('rescore', `cannot have the key ${keyId}: ${problem} Choose another key.`);
  const done_for = when === 'nightly' ? dayText(dayNumber(now.getTime())) : model.version;
  return { when, key: keyId, at_most, by: actor.name, since: now, done_for };
}

/** The setting as replies show it. */
export const rescoringDocument = ({
  when,
  key,
  at_most,
  by,
  since,
  job,
  ended,
}: Rescoring): ShapeOf<typeof rescoringSchema> => ({
  ...{ when, key_id: key, at_most, by, since: since.toISOString() },
  ...(job !== undefined && { job_id: job }),
  ...(ended !== undefined && { ended: { at: ended.at.toISOString(), reason: ended.reason } }),
});

/** The setting of one model, with the name of its key. */
export async function rescoringOf(
  { database, session }: Pick<ActionContext, 'database' | 'session'>,
  { rescore }: Model,
) {
  if (rescore === undefined) return {};
  const key = await new ApiKeyStore(database, session).find(rescore.key);
  return { rescore: { ...rescoringDocument(rescore), ...(key !== undefined && { key_name: key.name }) } };
}
