/** Why the demo cannot go on. The message says what is wrong and what to do; it is all that is shown. */
export class DemoProblem extends Error {
  override readonly name = 'DemoProblem';
  /** Process exit code: 2 when it was called wrongly. */
  readonly exitCode: 1 | 2;

  constructor(
    message: string,
    { exitCode = 1, cause }: { readonly exitCode?: 1 | 2; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}
