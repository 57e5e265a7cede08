import { removeFreshClone } from './entry/fresh-clone.js';
import { stopSharedFaultService } from './faults/fault-service.js';
import { runAtEnd } from './service/at-end.js';
import { stopTestServers } from './service/servers.js';
import { stopSharedService } from './service/service.js';

/**
 * Time limit of the last hook. The programs that it ends have limits of their own: 35 s for a process of the service,
 * then 20 s for a server. A shorter limit here would fail a run whose programs all end in time.
 */
const stopTimeoutMs = 120_000;

/** Mocha runs these hooks around the tests of one process: see .mocharc.json and scripts/test/group/main.ts. */
export const mochaHooks = {
  /** An unhandled rejection fails the running test; Mocha alone ignores it. */
  async beforeAll(): Promise<void> {
    process.on('unhandledRejection', (reason) => {
      throw reason;
    });
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(stopTimeoutMs);
    await runAtEnd();
    await stopSharedService();
    await stopSharedFaultService();
    await stopTestServers();
    await removeFreshClone();
  },
};
