import { childEnvironment } from '../../shared/config/config.js';

/**
 * Skips a test, or from a `before` hook all tests of its block. Prints why: a skip must not be taken for a pass.
 * @param reason why it cannot run here
 * @param toRun how to make it run
 */
export function leaveOut(context: Mocha.Context, reason: string, toRun: string): never {
  console.log(`      skipped: ${reason}. To run it: ${toRun}`);
  return context.skip();
}

/** Skips the tests of a tool that cannot be installed. On a build server, they must run. */
export function notInstalled(
  context: Mocha.Context,
  tool: { readonly reason: string; readonly remedy: string },
): never {
  const { reason, remedy } = tool;
  if (childEnvironment({}).CI === 'true') throw new Error(`${reason}. To run the tests: ${remedy}`);
  return leaveOut(context, reason, remedy);
}
