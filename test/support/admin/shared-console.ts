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
