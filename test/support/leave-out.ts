/**
 * Leaves a test out, or from a `before` hook all tests of its block, and says so: nobody is to take it for passed.
 * @param reason why it cannot be run here
 * @param toRun what to do to have it run
 */
export function leaveOut(context: Mocha.Context, reason: string, toRun: string): never {
  console.log(`      left out: ${reason}. To have it run: ${toRun}`);
  return context.skip();
}
