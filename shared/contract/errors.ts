/**
 * The table of all API errors. Callers branch on `code`. `status` is the HTTP status. `retryable` means that the same
 * call may succeed later without any change. The docs page shows `meaning` and `remedy`. Codes are frozen: new ones may
 * be added, existing ones never change.
 */
interface ErrorEntry {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly meaning: string;
  readonly remedy: string;
}

export const errorTable = {
  invalidApiKey: {
    code: 'invalid_api_key',
    status: 401,
    retryable: false,
    meaning: 'The key is missing, malformed, revoked, expired or unknown.',
    remedy:
      'Send "Authorization: Bearer <API_KEY>" with an active key. A lost secret cannot be shown again: create another key.',
  },
  rateLimited: {
    code: 'rate_limited',
    status: 429,
    retryable: true,
    meaning:
      'Too many requests per second for the key, too many bytes of them arriving at once, or too many different unknown keys from ' +
      'one address.',
    remedy:
      'Wait for the seconds in Retry-After, then send the call again. Up to 1000 records fit into one call. The rate belongs ' +
      'to the key: an administrator can give it a higher one (console, API keys; or leadscore key set --rate).',
  },
  /** The body cannot be parsed: syntax, encoding, types. */
  unreadableRequest: {
    code: 'bad_request',
    status: 422,
    retryable: false,
    meaning: 'The request cannot be read: its content type, encoding, syntax or types are wrong.',
    remedy: 'Correct the problem that the message names, then send the call again.',
  },
  /** The body was parsed and is refused: too large, empty, or a record that cannot be featurized. */
  refusedRequest: {
    code: 'bad_request',
    status: 400,
    retryable: false,
    meaning:
      'The request was read and is refused: no records, too many bytes, values or outcomes, or a record the model could not featurize.',
    remedy: 'Correct the records that the message names, then send the call again. No record of the call was counted.',
  },
  recordLimitExceeded: {
    code: 'record_limit_exceeded',
    status: 400,
    retryable: false,
    meaning: 'More than 1000 records in one batch call.',
    remedy: 'Send at most 1000 records in each call.',
  },
  expiredReadOnly: {
    code: 'expired_read_only',
    status: 402,
    retryable: false,
    meaning: 'The trial has ended without a subscription; the workspace is read-only.',
    remedy: 'Live scoring resumes on a paid plan. Scores, models and usage can still be read. Do not retry on a timer.',
  },
  workspaceSuspended: {
    code: 'workspace_suspended',
    status: 402,
    retryable: false,
    meaning: 'The operator of the service has suspended the workspace: it scores nothing until the suspension ends.',
    remedy:
      'Ask the operator. The console shows the reason. Scores, models and usage can still be read, outcomes reported and leads ' +
      'erased. Do not retry on a timer.',
  },
  quotaExceeded: {
    code: 'quota_exceeded',
    status: 429,
    retryable: false,
    meaning: 'Scoring is paused for the month: the call would pass the backstop, or the plan has no API scoring.',
    remedy:
      'It clears at the start of the next month (UTC), or on an upgrade. Without API scoring in the plan, only on an upgrade.',
  },
  modelNotFound: {
    code: 'model_not_found',
    status: 404,
    retryable: false,
    meaning: 'The organisation of the key has no model with this id.',
    remedy: 'Check model_id; GET /v1/models lists the models that the key can use.',
  },
  apiDisabled: {
    code: 'api_disabled',
    status: 403,
    retryable: false,
    meaning: 'Live API is off for the score that owns this model.',
    remedy: 'Turn Live API on for the model. Retrying does not clear it.',
  },
  insufficientScope: {
    code: 'insufficient_scope',
    status: 403,
    retryable: false,
    meaning: 'The key lacks the scope that the endpoint needs.',
    remedy: 'Use a key with the scope that the message names. An administrator creates keys (console, API keys).',
  },
  deployBlocked: {
    code: 'deploy_blocked',
    status: 409,
    retryable: false,
    meaning: 'The deploy policy is block and the model has not passed its validation gates.',
    remedy: 'The model clears its gate as predictions mature, or an administrator lifts the refusal with an override.',
  },
  notFound: {
    code: 'not_found',
    status: 404,
    retryable: false,
    meaning: 'The path does not exist, or no data is stored under the identifier in it.',
    remedy: 'Check the path and the identifier in it.',
  },
  methodNotAllowed: {
    code: 'method_not_allowed',
    status: 405,
    retryable: false,
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods in the Allow header.',
  },
  jobStateConflict: {
    code: 'job_state_conflict',
    status: 409,
    retryable: false,
    meaning: 'The bulk job is in a state in which it does not take this call, or an upload of its file is in progress.',
    remedy: 'GET /v1/jobs/{job_id} has the state of the job. The message names the states that take the call.',
  },
  jobLimitExceeded: {
    code: 'job_limit_exceeded',
    status: 429,
    retryable: true,
    meaning:
      'The workspace has as many unfinished bulk jobs as it may have, or the gateway has as many uploads or downloads.',
    remedy: 'Wait until a job has ended, or cancel one. For uploads and downloads wait for the seconds in Retry-After.',
  },
  uploadVersionUnsupported: {
    code: 'upload_version_unsupported',
    status: 412,
    retryable: false,
    meaning: 'The Tus-Resumable header names a version of the tus protocol that is not served.',
    remedy: 'Send Tus-Resumable: 1.0.0. Tus-Version has the versions that are served.',
  },
  rangeNotSatisfiable: {
    code: 'range_not_satisfiable',
    status: 416,
    retryable: false,
    meaning: 'The Range begins after the end of the file as it is now.',
    remedy: 'Content-Range has the length. While the job runs its results grow, so the same range may exist later.',
  },
  gone: {
    code: 'gone',
    status: 410,
    retryable: false,
    meaning: 'This unversioned alias has been switched off.',
    remedy: 'Send the call to the same path under /v1, where the probability is called conversion_likelihood.',
  },
  internalError: {
    code: 'internal_error',
    status: 500,
    retryable: true,
    meaning: 'An unexpected error on the server. The call was not counted.',
    remedy: 'Retry with back-off. Quote the X-Request-Id when you report the error.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorName = keyof typeof errorTable;

export interface ApiErrorOptions {
  /** Value of the Retry-After header, seconds. */
  readonly retryAfterSeconds?: number;
  /** Further members of the body beside `error`, such as `validation`. */
  readonly beside?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Logged, not sent to the caller. */
  readonly cause?: unknown;
}

/** An error reply: an entry of the error table, and the message for the caller. */
export class ApiError extends Error {
  readonly entry: ErrorEntry;

  constructor(
    readonly errorName: ErrorName,
    message: string,
    readonly options: ApiErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.entry = errorTable[errorName];
  }
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
