/**
 * What some work fails with.
 * @throws Error when it does not fail, or with what is no Error
 */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    () => 'it did not fail',
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new TypeError(`an Error was expected: ${String(outcome)}`);
}
