import { join } from 'node:path';

/** Ports that are free, and few processes. */
export const anyPort = {
  ...{ PORT: '0', CONSOLE_PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', BULK_ADMIN_PORT: '0' },
  ...{ WORKERS: '1', BULK_WORKERS: '1', LOG_LEVEL: undefined },
};

/** Without the servers that the environment names. */
export const noServers = { REDIS_URL: undefined, MONGODB_URL: undefined, KEY_PEPPER: undefined };

/**
 * npx links a project that it runs in the cache of npm, where the link would outlive a copy of the project.
 * @param directory of the copy
 */
export const ownCache = (directory: string) => ({ npm_config_cache: join(directory, '.npm') });
