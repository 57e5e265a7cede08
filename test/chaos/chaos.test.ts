import { chaosTest } from '../support/faults/chaos-test.js';

chaosTest({ seconds: 10, seed: 20_261_121, min: { calls: 75, kindsOfFaults: 2, replays: 10 } });
