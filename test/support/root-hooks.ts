import { stopSharedFaultService } from './faults/fault-service.js';
import { stopTestServers } from './service/servers.js';
import { stopSharedService } from './service/service.js';

/** Mocha runs these around the whole suite (`require` in .mocharc.json). */
export const mochaHooks = {
  /** A rejection that nobody handles fails the test that is running; Mocha by itself passes over it. */
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
