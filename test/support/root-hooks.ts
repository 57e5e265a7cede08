import { stopSharedFaultService } from './fault-service.js';
import { stopTestServers } from './servers.js';
import { stopSharedService } from './service.js';

/** Mocha runs these around the whole suite (`require` in .mocharc.json). */
export const mochaHooks = {
  async afterAll(): Promise<void> {
    await stopSharedService();
    await stopSharedFaultService();
    await stopTestServers();
  },
};
