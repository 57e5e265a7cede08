/**
 * Skips a test, or from a `before` hook all tests of its block, and prints why, so that a skip is not taken for a pass.
 * @param reason why it cannot run here
 * @param toRun how to make it run
 */
export function leaveOut(context: Mocha.Context, reason: string, toRun: string): never {
  console.log(`      skipped: ${reason}. To run it: ${toRun}`);
  return context.skip();
}
