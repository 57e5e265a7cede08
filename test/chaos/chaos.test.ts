import { chaosTest } from '../support/faults/chaos-test.js';

chaosTest({ seconds: 40, seed: 20_261_121, min: { calls: 300, kindsOfFaults: 5, replays: 50 } });
