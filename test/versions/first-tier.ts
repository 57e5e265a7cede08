import { useFirstTier } from '../support/tier.js';

/** With `--require`, Mocha runs property tests as often as `npm test` does. */
export const mochaHooks = {
  beforeAll(): void {
    useFirstTier();
  },
};
