import type { Server } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { withTimeout } from '../../shared/async/timeouts.js';

/** Time for clients to move to another gateway. */
const graceMs = 2_000;
/** Without a connection for this long, no balancer uses this server. They probe about once a second. */
const maxQuietMs = 10_000;
/** Most supervisors kill a process 30 s after SIGTERM. */
const maxWaitMs = 25_000;
/** Time to write and read a reply. */
const replyMs = 1_000;

/** Stops an HTTP server without failing a call. */
export class Drain {
  readonly name = 'http';
  private draining = false;
  /** Time of the last connection, monotonic ms. */
  private connectedMs = Number.NEGATIVE_INFINITY;

  /** @param maxCallMs longest time from the last byte of a body to its answer */
  constructor(
    private readonly server: Server,
    private readonly maxCallMs: number,
  ) {
    server.on('connection', () => {
      this.connectedMs = performance.now();
    });
  }

  /** Whether the server is stopping. It is then not ready, and every reply ends its connection. */
  get isDraining(): boolean {
    return this.draining;
  }

  /**
   * Stops in three steps:
   *
   * 1. For two seconds the server is not ready, and closes each connection with its next reply. Without
   *    recent connections this step is skipped.
   * 2. It accepts no more connections.
   * 3. It waits for the calls in flight. Clients that are still sending a body or do not read their reply are
   *    cut off.
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
