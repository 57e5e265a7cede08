import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import type { ChunkInHand } from '../pool/crash-note.js';
import { type DeathCause, strikeCommand } from '../pool/quarantine.js';
import { ChunkReplies } from './chunk-replies.js';

export interface ChunkDeathDeps {
  /** A connection for commands. */
  readonly redis: Redis;
  readonly logger: Logger;
}

/**
 * Handles the death of a worker process that a chunk has crashed or hung. The chunk is answered with a failure at once,
 * which deletes its key: another worker that is given its job does not score it. The death counts against the version.
 */
export function chunkDeathHandler({ redis, logger }: ChunkDeathDeps): (inHand: ChunkInHand, cause: DeathCause) => void {
  const replies = new ChunkReplies({ commands: redis, replies: redis, logger });
  const strike = strikeCommand(redis);
  return (inHand, cause) => {
    const { chunk } = inHand;
    const message = `a worker ${cause === 'hang' ? 'hung' : 'crashed'} while it worked on the records`;
    replies.send(inHand, { chunk, parts: [], failure: { code: 'scoring_failed', message } });
    strike(inHand, cause, Date.now()).then(
      (count) => logger.error({ inHand, cause, count }, 'a worker died while it worked on a chunk'),
      (error: unknown) => logger.error({ inHand, cause, error }, 'could not record worker death'),
    );
  };
}
