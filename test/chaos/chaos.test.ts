import { chaosTest } from '../support/faults/chaos-test.js';

chaosTest({ seconds: 20, seed: 20_261_121, min: { calls: 150, kindsOfFaults: 3, replays: 25 } });
