/** Exit codes of the command line. */
export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

export interface CliErrorOptions {
  /** What a program branches on; the `error.code` of `--json`. */
  readonly code: string;
  /** `failed` unless told otherwise. */
  readonly exitCode?: number;
  /** Further members of the error object of `--json`. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** Why a command did not do what it was asked. The message says what is wrong and what to do; it is all that is shown. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: string;
  readonly exitCode: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(message: string, { code, exitCode = exitCodes.failed, details = {}, cause }: CliErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.exitCode = exitCode;
    this.details = details;
  }
}

/** A command that was called wrongly: exit code 2. */
export const usageError = (message: string): CliError =>
  new CliError(message, { code: 'usage', exitCode: exitCodes.usage });

/** A person who was asked did not say yes. */
export const declined = (nothingHappened: string): CliError =>
  new CliError(nothingHappened, { code: 'declined' });

/** Something that is named but is not there. `hint` is the command that shows what is. */
export const notFound = (what: string, hint: string): CliError =>
  new CliError(`There is no ${what}. See: npx leadscore ${hint}`, { code: 'not_found' });
