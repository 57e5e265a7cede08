import { useFirstTier } from './tier.js';

/** Mocha requires this file to leave out the second tier, as `npm test` does. */
useFirstTier();
