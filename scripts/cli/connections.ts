import type { Config } from '../../shared/config.js';
import type { Redis } from '../../shared/redis.js';
import type { Db, Mongo } from '../../shared/store/connect.js';
import type { DatabaseUrls } from '../local-servers/private-servers.js';
import { CliError } from './cli-error.js';

const redisWaitMs = 2_000;

/**
 * The connections of one command, each made when it is first asked for: to the servers that the environment names, else
 * to the private ones that run on this machine. Drivers are loaded then, too: they take longer than most commands.
 */
export class Connections {
  #mongo: Promise<Mongo> | undefined;
  #redis: Promise<Redis> | undefined;
  #privateServers: Promise<DatabaseUrls | undefined> | undefined;

  constructor(private readonly config: Config) {}

  /**
   * The database, to read from.
   * @throws CliError saying what to set or start
   */
  async database(): Promise<Db> {
    this.#mongo ??= this.#connectMongo();
    return (await this.#mongo).database;
  }

  /** The database with its indexes made, to write to. */
  async preparedDatabase(): Promise<Db> {
    const database = await this.database();
    const { prepareDatabase } = await import('../../shared/store/prepare.js');
    await prepareDatabase(database);
    return database;
  }

  /**
   * Redis, connected.
   * @throws CliError when it does not answer within two seconds
   */
  redis(): Promise<Redis> {
    this.#redis ??= this.#connectRedis();
    return this.#redis;
  }

  /** Closes what was opened. */
  async close(): Promise<void> {
    await this.#mongo?.then(
      ({ client }) => client.close(),
      () => undefined,
    );
    await this.#redis?.then(
      (redis) => redis.disconnect(),
      () => undefined,
    );
  }

  async #connectMongo(): Promise<Mongo> {
    const url = this.config.mongoUrl ?? (await this.#privateUrls())?.mongoUrl;
    if (url === undefined) throw nothingToConnectTo('MONGODB_URL');
    const { connectMongo } = await import('../../shared/store/connect.js');
    try {
      return await connectMongo(url, { name: 'leadscore-cli', maxPoolSize: 4 });
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  async #connectRedis(): Promise<Redis> {
    const url = this.config.redisUrl ?? (await this.#privateUrls())?.redisUrl;
    if (url === undefined) throw nothingToConnectTo('REDIS_URL');
    const { createLogger } = await import('../../shared/logger.js');
    const logger = createLogger('silent', 'cli');
    const { connectionReady, connectRedis } = await import('../../shared/redis.js');
    const redis = connectRedis({ url, name: 'leadscore-cli', logger, kind: 'commands' });
    try {
      await connectionReady(redis, redisWaitMs);
      return redis;
    } catch (cause) {
      redis.disconnect();
      throw unavailable(cause);
    }
  }

  /** Not when one of the two is named: they belong together. */
  async #privateUrls(): Promise<DatabaseUrls | undefined> {
    const { mongoUrl, redisUrl } = this.config;
    if (mongoUrl !== undefined || redisUrl !== undefined) return undefined;
    const { readPrivateServers } = await import('../local-servers/private-servers.js');
    this.#privateServers ??= readPrivateServers();
    return this.#privateServers;
  }
}

/** Why `redis` gave nothing, in a few words. */
export const whyNoRedis = (error: unknown): string =>
  error instanceof CliError && error.code === noServers ? 'REDIS_URL is not set' : 'Redis did not answer';

const noServers = 'no_servers';

const nothingToConnectTo = (variable: string): CliError =>
  new CliError(
    `No servers to work on (${variable} is not set): set MONGODB_URL and REDIS_URL, or run \`npm start\` in this project`,
    { code: noServers },
  );

function unavailable(cause: unknown): CliError {
  return new CliError(cause instanceof Error ? cause.message : String(cause), { code: 'unavailable', cause });
}
