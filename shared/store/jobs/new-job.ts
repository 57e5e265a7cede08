import { expiryText } from '../../contract/dates.js';
import { jobIdOf } from '../../contract/identifiers.js';
import { allows, type Scope } from '../../contract/roles.js';
import { type ApiKey, isExpired } from '../accounts/api-keys.js';
import { type Job, noTotals } from './job-documents.js';
import type { JobOptions } from './job-options.js';

/** A job that does not end is removed after this time. */
const maxLifeMs = 90 * 24 * 60 * 60 * 1_000;

/** The creation of a job, by a call, a person or the service. */
export interface JobCreation extends Pick<Job, 'model' | 'version' | 'options'> {
  readonly callId: string;
  readonly apiKey: Pick<ApiKey, '_id' | 'organisation_id' | 'kind' | 'scopes'>;
  readonly atMs: number;
  readonly person?: string | undefined;
  readonly idempotency?: { readonly key: string; readonly bodyHash: string } | undefined;
}

/** The document of a new job: one of a file waits for it, and one of stored leads is read. */
export const jobDocument = ({
  callId,
  apiKey,
  atMs,
  person,
  idempotency,
  model,
  version,
  options,
}: JobCreation): Job => ({
  _id: jobIdOf(callId),
  org: apiKey.organisation_id,
  key: apiKey._id,
  ...(!allows(apiKey, 'read') && { hides_stored: true }),
  ...(person !== undefined && { person }),
  bucket: apiKey.kind,
  ...{ model, version, options },
  state: options.stored === undefined ? 'awaiting_upload' : 'reading',
  ...(idempotency !== undefined && { idempotency: { key: idempotency.key, body_hash: idempotency.bodyHash } }),
  upload: options.bytes === undefined ? {} : { length: options.bytes },
  settled: noTotals,
  revision: 0,
  created_at: new Date(atMs),
  purge_at: new Date(atMs + maxLifeMs),
});

/** The options of a job of stored leads that no call has chosen. */
export const optionsOfStored = (stored: NonNullable<JobOptions['stored']>, maxErrors: number): JobOptions => ({
  ...{ format: 'csv', stored, include_input: false, explain: false },
  ...{ stop_at: 'limit', max_errors: maxErrors, previous: true },
});

const neededScopes: readonly Scope[] = ['jobs', 'read'];

/**
 * Why a key cannot create jobs of stored leads of an organisation; undefined if it can. The sentence follows a colon,
 * and may follow a full stop.
 */
export function keyProblem(key: ApiKey | undefined, organisationId: string, now: Date): string | undefined {
  if (key === undefined || key.organisation_id !== organisationId) return 'The organisation has no such key.';
  if (key.kind === 'test') return 'It is a test key, and calls of test keys are not stored.';
  if (key.revoked_at !== undefined) return 'The key was revoked.';
  if (key.expires_at !== undefined && isExpired(key, now.getTime()))
    return `The key expired ${expiryText(key.expires_at)}.`;
  const lacking = neededScopes.filter((scope) => !allows(key, scope));
  if (lacking.length === 0) return undefined;
  return `The key lacks ${lacking.length === 1 ? 'the scope' : 'the scopes'} ${lacking.join(' and ')}.`;
}
