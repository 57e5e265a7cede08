import type { Server } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

/** How long callers are given to move to another gateway. */
const graceMs = 2_000;

/** A server that can be stopped without failing a call. */
export class Drain {
  readonly name = 'http';
  private draining = false;

  constructor(private readonly server: Server) {}

  /** Whether it is about to stop: it is not ready then, and every reply ends its connection. */
  get isDraining(): boolean {
    return this.draining;
  }

  /**
   * Stops in three steps: says that it is not ready and asks each caller, with its next reply, to close the connection;
   * then takes no more connections; then waits for the calls that it has. A server that nobody is connected to stops at
   * once.
   */
  async stop(): Promise<void> {
    this.draining = true;
    if ((await this.connectionCount()) > 0) await wait(graceMs);
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }

  private connectionCount(): Promise<number> {
    return new Promise((resolve) => {
      this.server.getConnections((error, count) => resolve(error === null ? count : 0));
    });
  }
}
