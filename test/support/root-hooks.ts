import { stopSharedFaultService } from './fault-service.js';

import { stopTestServers } from './servers.js';
import { stopSharedService } from './service.js';

/** Mocha runs these around the whole suite (`require` in .mocharc.json). */
export const mochaHooks = {
  /** `--retries` (see .ci/run) must not hide that a test did not pass at once. */
  afterEach(this: Mocha.Context): void {
    const test = this.currentTest;
    const tries = 1 + Number(test === undefined ? 0 : Reflect.get(test, '_currentRetry'));
    if (tries > 1) console.log(`    try ${tries}, the one before failed: ${test?.fullTitle()}`);
  },
  async afterAll(): Promise<void> {
    await stopSharedService();
    await stopSharedFaultService();
    await stopTestServers();
  },
};
