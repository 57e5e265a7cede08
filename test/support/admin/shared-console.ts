import { startService } from '../../../scripts/servers/service-process.js';
import { sharedPart } from '../service/at-end.js';
import { type ConsoleService, consoleService, startPool } from './console-service.js';

/** A console that test files share. Each works in organisations of its own. */
export const sharedConsole = sharedPart(
  () => consoleService(),
  (service) => service.leave(),
);

/** Another one, with a worker pool on its databases. */
export const sharedConsoleWithPool = sharedPart(consoleWithPool, (service) => service.leave());

async function consoleWithPool(): Promise<ConsoleService> {
  const service = await consoleService();
  const pool = await startPool(service);
  return {
    ...service,
    leave: async () => {
      await pool.stop();
      await service.leave();
    },
  };
}

/** Another one, with a worker pool and a runner of bulk jobs on its databases. */
export const sharedConsoleWithBulk = sharedPart(
  async () => {
    const service = await consoleWithPool();
    const runner = await startService({
      kind: 'bulk',
      log: 'ignore',
      environment: {
        ...{ REDIS_URL: service.redisUrl, MONGODB_URL: service.mongoUrl },
        ...{ BULK_ADMIN_PORT: '0', TEST_TIMINGS_PERCENT: '5' },
      },
    });
    return {
      ...service,
      leave: async () => {
        await runner.stop();
        await service.leave();
      },
    };
  },
  (service) => service.leave(),
);
