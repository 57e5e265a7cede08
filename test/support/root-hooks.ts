import { stopSharedFaultService } from './faults/fault-service.js';
import { stopTestServers } from './service/servers.js';
import { stopSharedService } from './service/service.js';

/** Mocha runs these hooks around the tests of one process: see .mocharc.json and scripts/test/group/main.ts. */
export const mochaHooks = {
  /** An unhandled rejection fails the running test; Mocha alone ignores it. */
  async beforeAll(): Promise<void> {
    process.on('unhandledRejection', (reason) => {
      throw reason;
    });
  },
  async afterAll(): Promise<void> {
    await stopSharedService();
    await stopSharedFaultService();
    await stopTestServers();
  },
};
