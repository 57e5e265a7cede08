import { chaosTest } from '../support/faults/chaos-test.js';

// Fewer calls are answered than on one server: without one of its masters, a cluster refuses commands for all keys.
chaosTest({ seconds: 60, seed: 20_261_123, onRedisCluster: true, min: { calls: 300, kindsOfFaults: 5, replays: 20 } });
