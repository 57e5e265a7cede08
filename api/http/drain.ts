import type { Server } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { withTimeout } from '../../shared/async/timeouts.js';
import type { Timings } from '../../shared/config/timings.js';

const maxWaitMs = 25_000; // the process is ended by force 30 s after its signal
const replyMs = 1_000; // for a reply to be written and read

type DrainTimings = Timings['drain'];

export interface DrainOptions extends DrainTimings {
  /** Every call whose body has arrived is answered within this time. */
  readonly maxCallMs: number;
}

/** Stops an HTTP server without failing a call. */
export class Drain {
  readonly name = 'http';
  private draining = false;
  /** Time of the latest connection, by `performance.now()`. */
  private connectedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly server: Server,
    private readonly options: DrainOptions,
  ) {
    server.on('connection', () => {
      this.connectedMs = performance.now();
    });
  }

  /** While draining, the gateway is not ready, and every reply closes its connection. */
  get isDraining(): boolean {
    return this.draining;
  }

  /**
   * Stops in three steps:
   * 1. For the grace time the gateway is not ready, and each reply asks its caller to close the connection.
   * 2. It accepts no more connections.
   * 3. It waits for the calls in flight, then drops callers that still send a body or do not read their reply.
   *
   * A server without connections, and without a recent one, skips the grace time.
   */
  async stop(): Promise<void> {
    this.draining = true;
    const { graceMs, quietMs, maxCallMs } = this.options;
    // Some balancers open a connection for each check.
    const wasQuiet = performance.now() - this.connectedMs > quietMs;
    if (!wasQuiet || (await this.connectionCount()) > 0) await wait(graceMs);
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    const limitMs = Math.min(maxCallMs + replyMs, maxWaitMs);
    await withTimeout(limitMs, closed).catch(() => this.server.closeAllConnections());
    await closed;
  }

  private connectionCount(): Promise<number> {
    return new Promise((resolve) => {
      this.server.getConnections((error, count) => resolve(error === null ? count : 0));
    });
  }
}
