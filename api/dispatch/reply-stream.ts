import { setImmediate as nextStep, setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { withSignal } from '../../shared/async/timeouts.js';
import type { ChunkReply } from '../../shared/messages/score-job.js';
import type { Logger } from '../../shared/process/logger.js';
import { replyStreamKey } from '../../shared/redis/keys.js';

export interface ReplyStreamOptions {
  readonly gatewayId: string;
  /** A connection of its own: XREAD blocks it. */
  readonly blocking: Redis;
  /** Trims the stream. */
  readonly commands: Redis;
  readonly logger: Logger;
}

interface Waiter {
  readonly resolve: (reply: ChunkReply) => void;
  readonly timer: NodeJS.Timeout;
}

/** Longest block of one XREAD, in ms. */
export const blockMs = 2_000;
const maxRepliesAtOnce = 64;
/** Characters; parsing so many takes milliseconds. */
const longReply = 256 * 1024;
const retryMs = 100;
const trimEvery = 64;

/** No reply arrived in time. */
export class NoReply extends Error {
  override name = 'NoReply';
}

/** Reads the replies of the workers from this gateway's stream, and resolves the call that waits for each. */
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

  /** Starts to read. */
  start(): void {
    this.reading = this.read();
  }

  /** Stops reading. Pending calls then end at their timeout. */
  async stop(): Promise<void> {
    // `disconnect` on a connection that is about to reconnect never settles its commands.
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
    // The caller may have failed for another reason before the timeout.
    reply.catch(() => undefined);
    return reply;
  }

  /** Drops a chunk that no call waits for. */
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
        for (const [id, values] of streams?.[0]?.[1] ?? []) {
          this.receive(id, values);
          // The main thread has long replies too: small bodies may bring back stored fields and reasons.
          if ((values[1]?.length ?? 0) >= longReply) await nextStep();
        }
        if (streams === null) this.onIdleRead();
      } catch (error) {
        if (signal.aborted) return;
        this.options.logger.warn({ error }, 'reply read failed, retrying');
        await wait(retryMs);
      }
    }
  }

  /**
   * After an idle read: with pending replies, restarts from 0. Redis may have lost the stream, and the ids of a new one
   * may be smaller. Without pending replies, trims the stream, because replies contain lead data.
   */
  private onIdleRead(): void {
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

  /** Drops the entries that were read. */
  private trim(): void {
    this.unread = 0;
    this.options.commands.xtrim(this.key, 'MINID', this.lastId).catch(() => undefined);
  }
}
