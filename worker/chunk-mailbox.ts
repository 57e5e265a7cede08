import type { Redis } from 'ioredis';
import { modelStrikesKey, payloadKey, replyStreamKey } from '../shared/redis-keys.js';
import { type ChunkPayload, type ChunkReply, messageVersion } from '../shared/score-job.js';
import { isQuarantined, isSuspect } from './quarantine.js';

/** A stream that nobody reads any more goes away after this long. */
const replyStreamMs = 60_000;
/** A gateway trims what it has read; this bounds the stream of one that has stopped reading. */
const longestStream = 2_000;

/** Thrown for a payload that a newer or older gateway wrote: it is for a worker that knows its form. */
export class UnknownMessageVersion extends Error {
  override name = 'UnknownMessageVersion';
}

/** A chunk, and what is known against its model. */
export interface ReadChunk {
  readonly payload: ChunkPayload;
  /** It has killed too many worker processes to be run. */
  readonly isQuarantined: boolean;
  /** It holds up a worker process at the moment, and may kill it. */
  readonly isSuspect: boolean;
}

/** Reads the payloads of chunks, and writes replies to the stream of the gateway that waits. */
export class ChunkMailbox {
  constructor(private readonly redis: Redis) {}

  /** The payload of a chunk; undefined when it was cancelled, answered already, or is past its deadline. */
  async read(chunkId: string): Promise<ReadChunk | undefined> {
    const [text, strikes] = await Promise.all([
      this.redis.get(payloadKey(chunkId)),
      this.redis.hgetall(modelStrikesKey),
    ]);
    if (text === null) return undefined;
    const payload = JSON.parse(text) as ChunkPayload;
    if (payload.v !== messageVersion) throw new UnknownMessageVersion(`message version ${payload.v}`);
    const modelKey = `${payload.model}:${payload.version}`;
    return {
      payload,
      isQuarantined: isQuarantined(strikes, modelKey),
      isSuspect: isSuspect(strikes, modelKey, Date.now()),
    };
  }

  /** Whether somebody still waits for a chunk, whatever the version of its messages: each keeps its payload under this key. */
  async isWaitedFor(chunkId: string): Promise<boolean> {
    return (await this.redis.exists(payloadKey(chunkId))) === 1;
  }

  /** Sends the reply and drops the payload, so that the chunk is never scored again. */
  async reply(chunk: ChunkPayload, reply: ChunkReply): Promise<void> {
    const stream = replyStreamKey(chunk.gateway);
    const results = await this.redis
      .pipeline()
      .xadd(stream, 'MAXLEN', '~', longestStream, '*', 'r', JSON.stringify(reply))
      .pexpire(stream, replyStreamMs)
      .del(payloadKey(chunk.chunk))
      .exec();
    for (const [error] of results ?? []) if (error !== null) throw error;
  }
}
