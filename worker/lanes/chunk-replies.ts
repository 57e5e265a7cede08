import type { ChunkHead, ChunkReply } from '../../shared/messages/score-job.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { modelStrikesKey, payloadKey, replyStreamKey } from '../../shared/redis/keys.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';

const replyStreamTtlMs = 60_000; // a reply stream that is no longer read expires
const maxStreamEntries = 2_000; // gateways trim entries that they have read; this bounds the stream of a stuck one

/** A chunk that a gateway awaits. */
export interface AwaitedChunk {
  /** The payload as JSON; empty when the job holds it. */
  readonly text: string;
  /** The strikes of all models, see `quarantine.ts`. */
  readonly strikes: Readonly<Record<string, string>>;
}

type QueuedChunk = Pick<ChunkHead, 'chunk' | 'partition'>;

export interface ChunkReplyConnections {
  /** For reads. */
  readonly commands: Redis;
  /** For replies: the BullMQ worker's own connection, so that the job ends after the reply, in the same write. */
  readonly replies: Redis;
  readonly logger: Logger;
}

/** Reads awaited chunks, and writes replies to the stream of the gateway that awaits them. */
export class ChunkReplies {
  constructor(private readonly connections: ChunkReplyConnections) {}

  /** Reads a chunk; undefined when its gateway has cancelled it or been answered, or its deadline is over. */
  async read(of: QueuedChunk): Promise<AwaitedChunk | undefined> {
    const { commands } = this.connections;
    const reads = [commands.get(payloadKey(of)), commands.hgetall(modelStrikesKey)] as const;
    const [text, strikes] = await Promise.all(reads);
    return text === null ? undefined : { text, strikes };
  }

  /** Whether a gateway still awaits a chunk. */
  async isAwaited(of: QueuedChunk): Promise<boolean> {
    return (await this.connections.commands.exists(payloadKey(of))) === 1;
  }

  /**
   * Sends the reply and deletes the chunk's key, so that the chunk is never scored again. Does not wait for Redis,
   * which executes later commands of the connection after these; in a cluster another node may be first. A reply that
   * Redis refuses is lost, and logged: its call then ends at its deadline, without being counted.
   */
  send(to: QueuedChunk & Pick<ChunkHead, 'gateway'>, reply: ChunkReply): void {
    const { gateway, chunk } = to;
    const { replies, logger } = this.connections;
    const stream = replyStreamKey(gateway);
    inOneWrite(replies);
    Promise.all([
      replies.xadd(stream, 'MAXLEN', '~', maxStreamEntries, '*', 'r', JSON.stringify(reply)),
      replies.pexpire(stream, replyStreamTtlMs),
      replies.del(payloadKey(to)),
    ]).catch((error: unknown) => logger.warn({ chunk, error }, 'chunk reply failed'));
  }
}
