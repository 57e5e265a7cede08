import type { ChunkPayload, ChunkReply } from '../../shared/messages/score-job.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { modelStrikesKey, payloadKey, replyStreamKey } from '../../shared/redis/keys.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';

/** A stream that nobody reads any more goes away after this long. */
const replyStreamMs = 60_000;
/** A gateway trims what it has read; this bounds the stream of one that has stopped reading. */
const maxStream = 2_000;

/** A chunk that somebody waits for. */
export interface AwaitedChunk {
  /** The payload as JSON; empty when the job holds it. */
  readonly text: string;
  /** What is known against all models: see `quarantine.ts`. */
  readonly strikes: Readonly<Record<string, string>>;
}

export interface ChunkReplyConnections {
  /** For what is asked of Redis. */
  readonly commands: Redis;
  /** For the reply: the BullMQ worker's own, so that the end of the job comes after it, in the same write. */
  readonly replies: Redis;
  readonly logger: Logger;
}

/** Reads what concerns chunks, and writes replies to the stream of the gateway that waits. */
export class ChunkReplies {
  constructor(private readonly options: ChunkReplyConnections) {}

  /** What is under a chunk's key, in two commands; undefined when it was cancelled, answered already, or is past its deadline. */
  async read(chunkId: string): Promise<AwaitedChunk | undefined> {
    const { commands } = this.options;
    const [text, strikes] = await Promise.all([
      commands.get(payloadKey(chunkId)),
      commands.hgetall(modelStrikesKey),
    ]);
    return text === null ? undefined : { text, strikes };
  }

  /** Whether somebody waits for a chunk still. */
  async isAwaited(chunkId: string): Promise<boolean> {
    return (await this.options.commands.exists(payloadKey(chunkId))) === 1;
  }

  /**
   * Sends the reply and drops what is under the chunk's key, so that it is never scored again. Does not wait for Redis:
   * what the connection sends afterwards arrives later. A reply that Redis refuses is logged; nobody gets it.
   */
  reply({ gateway, chunk }: ChunkPayload, reply: ChunkReply): void {
    const { replies, logger } = this.options;
    const stream = replyStreamKey(gateway);
    inOneWrite(replies);
    Promise.all([
      replies.xadd(stream, 'MAXLEN', '~', maxStream, '*', 'r', JSON.stringify(reply)),
      replies.pexpire(stream, replyStreamMs),
      replies.del(payloadKey(chunk)),
    ]).catch((error: unknown) => logger.warn({ chunk, error }, 'a reply could not be sent'));
  }
}
