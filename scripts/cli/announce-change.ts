import { type Change, publishChange } from '../../shared/changes.js';
import type { CliContext } from './cli-context.js';
import { whyNoRedis } from './connections.js';

/**
 * Tells running gateways and workers what has changed, so that they act on it at once. Without Redis they notice by
 * themselves within five seconds: that is said on standard error and is no failure.
 */
export async function announceChange(
  { connections, stderr }: Pick<CliContext, 'connections' | 'stderr'>,
  change: Change,
): Promise<void> {
  try {
    await publishChange(await connections.redis(), change);
  } catch (error) {
    stderr.write(`Warning: ${whyNoRedis(error)}; running gateways notice the change within 5 seconds.\n`);
  }
}
