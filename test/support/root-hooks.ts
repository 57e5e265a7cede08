import { stopTestServers } from './servers.js';

/** Mocha runs these around the whole suite (`require` in .mocharc.json). */
export const mochaHooks = {
  async afterAll(): Promise<void> {
    await stopTestServers();
  },
};
