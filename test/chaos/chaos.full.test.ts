import { chaosTest } from '../support/faults/chaos-test.js';

chaosTest({ seconds: 120, seed: 20_261_121, min: { calls: 1_000, kindsOfFaults: 8, replays: 50 } });
