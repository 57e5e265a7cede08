import { useRedisCluster } from './redis-of-service.js';

/** With `--require`, Mocha runs every test that starts a service on a Redis Cluster. */
export const mochaHooks = {
  beforeAll(): void {
    useRedisCluster();
  },
};
