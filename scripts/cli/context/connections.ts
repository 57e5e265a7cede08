import { ConfigError, noPepper, type OperatorConfig } from '../../../shared/config/config.js';
import type { Redis } from '../../../shared/redis/connect.js';
import type { Db, Mongo, MongoClient } from '../../../shared/store/connection/connect.js';
import type { ServersWithPepper } from '../../servers/private-servers.js';
import { CliError } from './cli-error.js';

const redisWaitMs = 2_000; // a command is interactive

/**
 * Lazy connections of one command. They go to the servers that the environment names, or else to the private ones on
 * this machine. The drivers are imported on first use, because loading them takes longer than most commands.
 */
export class Connections {
  private mongoConnection: Promise<Mongo> | undefined;
  private redisConnection: Promise<Redis> | undefined;
  private privateServers: Promise<ServersWithPepper | undefined> | undefined;

  constructor(private readonly config: OperatorConfig) {}

  /**
   * The database for reading.
   * @throws CliError when no server is configured, MongoDB does not answer, or this release cannot use the database
   */
  async database(): Promise<Db> {
    const database = await this.anyDatabase();
    const { schemaProblemOf } = await import('../../../shared/store/schema/schema-state.js');
    const problem = await schemaProblemOf(database);
    if (problem !== undefined) throw new CliError(`${problem.problem}. ${problem.remedy}`, { code: problem.code });
    return database;
  }

  /** The same for commands that say themselves which release can use it. */
  async anyDatabase(): Promise<Db> {
    return (await this.mongo()).database;
  }

  /** The client of `database`, for transactions. */
  async client(): Promise<MongoClient> {
    return (await this.mongo()).client;
  }

  /** The database for writing. An empty one gets its collections and indexes first. */
  async preparedDatabase(): Promise<Db> {
    // First, for an error with a code.
    const database = await this.database();
    const { prepareDatabase } = await import('../../../shared/store/connection/prepare-database.js');
    await prepareDatabase(database);
    return database;
  }

  /** @throws CliError when no server is configured or Redis does not answer within 2 s */
  redis(): Promise<Redis> {
    this.redisConnection ??= this.connectRedis();
    return this.redisConnection;
  }

  /**
   * The pepper of the gateways' keys.
   * @throws ConfigError when it is not set and there are no private servers
   */
  async keyPepper(): Promise<string> {
    const pepper = this.config.keyPepper ?? (await this.privateUrls())?.keyPepper;
    if (pepper === undefined) throw new ConfigError(noPepper);
    return pepper;
  }

  async close(): Promise<void> {
    await this.mongoConnection?.then(
      ({ client }) => client.close(),
      () => undefined,
    );
    await this.redisConnection?.then(
      (redis) => redis.disconnect(),
      () => undefined,
    );
  }

  private mongo(): Promise<Mongo> {
    this.mongoConnection ??= this.connectMongo();
    return this.mongoConnection;
  }

  private async connectMongo(): Promise<Mongo> {
    const url = this.config.mongoUrl ?? (await this.privateUrls())?.mongoUrl;
    if (url === undefined) throw noServers('MONGODB_URL');
    const { connectMongo } = await import('../../../shared/store/connection/connect.js');
    try {
      return await connectMongo(url, { name: 'leadscore-cli', maxPoolSize: 4 });
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  private async connectRedis(): Promise<Redis> {
    const url = this.config.redisUrl ?? (await this.privateUrls())?.redisUrl;
    if (url === undefined) throw noServers('REDIS_URL');
    const { createLogger } = await import('../../../shared/process/logger.js');
    const logger = createLogger('silent', 'cli');
    const { connectionReady, connectRedis } = await import('../../../shared/redis/connect.js');
    const redis = connectRedis({ url, name: 'leadscore-cli', logger, kind: 'commands' });
    try {
      await connectionReady(redis, redisWaitMs);
      return redis;
    } catch (cause) {
      redis.disconnect();
      throw unavailable(cause);
    }
  }

  /** Undefined when either setting is present, because Redis and MongoDB must belong to the same installation. */
  private async privateUrls(): Promise<ServersWithPepper | undefined> {
    const { mongoUrl, redisUrl } = this.config;
    if (mongoUrl !== undefined || redisUrl !== undefined) return undefined;
    const { readPrivateServers } = await import('../../servers/private-servers.js');
    this.privateServers ??= readPrivateServers();
    return this.privateServers;
  }
}

/** The reason why `Connections.redis` failed. */
export const redisProblem = (error: unknown): string =>
  error instanceof CliError && error.code === noServersCode ? 'REDIS_URL is not set' : 'Redis did not answer';

const noServersCode = 'no_servers';

const noServers = (variable: string): CliError =>
  new CliError(
    `No servers configured (${variable} is not set). Set MONGODB_URL and REDIS_URL, or run \`npm start\` in this project`,
    { code: noServersCode },
  );

function unavailable(cause: unknown): CliError {
  return new CliError(cause instanceof Error ? cause.message : String(cause), { code: 'unavailable', cause });
}
