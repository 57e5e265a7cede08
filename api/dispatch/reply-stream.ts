import { setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { withSignal } from '../../shared/async/timeouts.js';
import type { ChunkReply } from '../../shared/messages/score-job.js';
import type { Logger } from '../../shared/process/logger.js';
import { replyStreamKey } from '../../shared/redis/keys.js';

export interface ReplyStreamOptions {
  readonly gatewayId: string;
  /** A connection of its own: it waits inside Redis. */
  readonly blocking: Redis;
  /** A connection for commands, to trim what was read. */
  readonly commands: Redis;
  readonly logger: Logger;
}

interface Waiter {
  readonly resolve: (reply: ChunkReply) => void;
  readonly timer: NodeJS.Timeout;
}

/** The longest that it waits inside Redis at once. */
export const blockMs = 2_000;
const maxRepliesAtOnce = 64;
const retryMs = 100;
const trimEvery = 64;

/** No reply came in time. */
export class NoReply extends Error {
  override name = 'NoReply';
}

/** Receives what the workers answer to this gateway, and hands each reply to whoever waits for it. */
export class ReplyStream {
  private readonly waiters = new Map<string, Waiter>();
  private readonly key: string;
  private lastId = '0';
  private unread = 0;
  private readonly closing = new AbortController();
  private reading: Promise<void> = Promise.resolve();

  constructor(private readonly options: ReplyStreamOptions) {
    this.key = replyStreamKey(options.gatewayId);
  }

  /** Begins to read. */
  start(): void {
    this.reading = this.read();
  }

  /** Stops reading; whoever still waits will wait until their time is over. */
  async stop(): Promise<void> {
    // A connection that is about to reconnect keeps its commands for ever when it is told to disconnect.
    this.closing.abort();
    this.options.blocking.disconnect();
    await this.reading;
    await this.options.commands.del(this.key).catch(() => undefined);
  }

  /** The reply to a chunk; rejects with NoReply after `timeoutMs`. */
  waitFor(chunkId: string, timeoutMs: number): Promise<ChunkReply> {
    const reply = new Promise<ChunkReply>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiters.delete(chunkId);
        reject(new NoReply(`no worker answered within ${timeoutMs} ms`));
      }, timeoutMs);
      this.waiters.set(chunkId, { resolve, timer });
    });
    // Whoever waits may have given up for another reason before the time is over.
    reply.catch(() => undefined);
    return reply;
  }

  /** Nobody waits for this chunk any more. */
  forget(chunkId: string): void {
    clearTimeout(this.waiters.get(chunkId)?.timer);
    this.waiters.delete(chunkId);
  }

  private async read(): Promise<void> {
    const { signal } = this.closing;
    while (!signal.aborted) {
      try {
        const replies = this.options.blocking.xread(
          'COUNT',
          maxRepliesAtOnce,
          'BLOCK',
          blockMs,
          'STREAMS',
          this.key,
          this.lastId,
        );
        const streams = await withSignal(signal, replies);
        for (const [, entries] of streams ?? []) for (const [id, values] of entries) this.receive(id, values);
        if (streams === null) this.whenQuiet();
      } catch (error) {
        if (signal.aborted) return;
        this.options.logger.warn({ error }, 'replies could not be read');
        await wait(retryMs);
      }
    }
  }

  /**
   * Nothing has come for a while. When somebody waits, it may be that Redis has forgotten the stream, and that its clock was
   * set back since, or is that of another machine: the ids of a new one would then be smaller than what was read last.
   * When nobody does, what was read need not lie there: replies tell of leads' fields.
   */
  private whenQuiet(): void {
    if (this.waiters.size > 0) this.lastId = '0';
    else if (this.unread > 0) this.trim();
  }

  private receive(id: string, values: readonly string[]): void {
    this.lastId = id;
    this.unread += 1;
    if (this.unread >= trimEvery) this.trim();
    const reply = JSON.parse(values[1] ?? '{}') as ChunkReply;
    const waiter = this.waiters.get(reply.chunk);
    if (waiter === undefined) return;
    this.forget(reply.chunk);
    waiter.resolve(reply);
  }

  /** Drops what has been read, so that the stream holds no more than a few replies. */
  private trim(): void {
    this.unread = 0;
    this.options.commands.xtrim(this.key, 'MINID', this.lastId).catch(() => undefined);
  }
}
