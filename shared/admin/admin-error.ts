/** The HTTP status of each error of an action. Codes are frozen: new ones may be added, existing ones never change. */
export const adminErrors = {
  sign_in_required: 401,
  link_invalid: 401,
  forbidden: 403,
  cross_site: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  being_deleted: 409,
  other_key_settings: 409,
  older_processes: 409,
  version_taken: 409,
  bundle_stored: 409,
  would_block: 409,
  changed_meanwhile: 409,
  needs_force: 409,
  too_many_models: 409,
  too_many_versions: 409,
  too_large: 413,
  bad_bundle: 422,
  invalid_request: 422,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
} as const;

export type AdminErrorCode = keyof typeof adminErrors;

export interface AdminErrorOptions {
  /** The input member that is wrong. The message then begins with its name. */
  readonly member?: string;
  /** The kind of object that was not found: each command line names the command that lists them. */
  readonly missing?: 'organisation' | 'key' | 'model';
  /** The model that has the bundle already. */
  readonly stored?: { readonly model_id: string; readonly version: string };
  /** The model whose candidate is in the way. */
  readonly hasCandidate?: string;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An action that was refused. The message says the reason and the remedy, for people. */
export class AdminError extends Error {
  override readonly name = 'AdminError';

  constructor(
    readonly code: AdminErrorCode,
    message: string,
    readonly options: AdminErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
  }
}

/** The message has no full stop: command lines append how to list the existing ones. */
export const notFound = (missing: NonNullable<AdminErrorOptions['missing']>, id: string): AdminError =>
  new AdminError('not_found', `There is no ${missing} ${id}`, { missing });

/** An input member with a wrong value. */
export const invalid = (member: string, text: string): AdminError =>
  new AdminError('invalid_request', `${member} ${text}`, { member });
