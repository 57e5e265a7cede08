/**
 * Skips a test, or from a `before` hook all tests of its block. Prints why: a skip must not be taken for a pass.
 * @param reason why it cannot run here
 * @param toRun how to make it run
 */
export function leaveOut(context: Mocha.Context, reason: string, toRun: string): never {
  console.log(`      skipped: ${reason}. To run it: ${toRun}`);
  return context.skip();
}
