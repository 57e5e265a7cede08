import type { Server } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { withTimeout } from '../../shared/async/timeouts.js';

/** How long callers are given to move to another gateway. */
const graceMs = 2_000;
/** Balancers ask whether it is ready once a second, some of them over a connection of its own each time. */
const maxQuietMs = 10_000;
/** So that the process ends in good order, and not by force 30 s after its signal. */
const maxWaitMs = 25_000;
/** For a reply to be written and read. */
const replyMs = 1_000;

/** A server that can be stopped without failing a call. */
export class Drain {
  readonly name = 'http';
  private draining = false;
  /** When somebody connected last, in the terms of `performance.now()`. */
  private connectedMs = Number.NEGATIVE_INFINITY;

  /** @param maxCallMs within which every call is answered whose body has arrived */
  constructor(
    private readonly server: Server,
    private readonly maxCallMs: number,
  ) {
    server.on('connection', () => {
      this.connectedMs = performance.now();
    });
  }

  /** Whether it is about to stop: it is not ready then, and every reply ends its connection. */
  get isDraining(): boolean {
    return this.draining;
  }

  /**
   * Stops in three steps: says that it is not ready and asks each caller, with its next reply, to close the connection;
   * then takes no more connections; then waits for the calls that it has, and gives up callers who still send their body or
   * do not read their reply. A server that nobody is connected to, nor was of late, stops at once.
   */
  async stop(): Promise<void> {
    this.draining = true;
    const wasQuiet = performance.now() - this.connectedMs > maxQuietMs;
    if (!wasQuiet || (await this.connectionCount()) > 0) await wait(graceMs);
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    const limitMs = Math.min(this.maxCallMs + replyMs, maxWaitMs);
    await withTimeout(limitMs, closed).catch(() => this.server.closeAllConnections());
    await closed;
  }

  private connectionCount(): Promise<number> {
    return new Promise((resolve) => {
      this.server.getConnections((error, count) => resolve(error === null ? count : 0));
    });
  }
}
