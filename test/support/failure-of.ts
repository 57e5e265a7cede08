/**
 * Returns the error with which `work` rejects.
 * @throws TypeError when it resolves, or rejects with something else
 */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    () => 'the work succeeded',
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new TypeError(`expected an Error, but got: ${String(outcome)}`);
}
