import { createLogger } from '../process/logger.js';
import { ConfigError } from './config.js';

/**
 * The settings of a main process. When one cannot be used, a line of the log names it, and the process ends with 1.
 * @param name what this process is, as in its log
 * @param read reads them from the environment
 * @throws whatever `read` throws, but for ConfigError
 */
export function readSettings<Settings>(name: string, read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    createLogger('info', name).fatal(`could not start: ${error.message}`);
    return process.exit(1);
  }
}
