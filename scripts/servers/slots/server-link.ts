import { FaultProxy } from '../fault-proxy.js';

/** Path of a process to Redis and MongoDB. */
export type Link = 'direct' | 'proxied';

export interface LinkOptions {
  readonly link: Link;
  /** For a direct process. */
  readonly redisUrl: () => string;
  /** For the proxy. A Redis Cluster has none: clients connect to the addresses that its nodes name. */
  readonly redisPort: () => number;
  readonly mongoPort: () => number;
  /** For a direct process. */
  readonly mongoUrl: () => string;
  readonly databaseName: string;
}

export interface ServerProxies {
  readonly redis: FaultProxy;
  readonly mongo: FaultProxy;
}

/** The path of the processes of one slot to their servers. */
export class ServerLink {
  private constructor(
    private readonly options: LinkOptions,
    /** Undefined for a direct link. */
    readonly proxies: ServerProxies | undefined,
  ) {}

  static async open(options: LinkOptions): Promise<ServerLink> {
    if (options.link === 'direct') return new ServerLink(options, undefined);
    return new ServerLink(options, {
      redis: await FaultProxy.start(options.redisPort),
      mongo: await FaultProxy.start(options.mongoPort),
    });
  }

  /** Environment variables of a process. */
  addresses(): Readonly<Record<string, string>> {
    const { redisUrl, mongoUrl, databaseName } = this.options;
    if (this.proxies === undefined) return { REDIS_URL: redisUrl(), MONGODB_URL: mongoUrl() };
    const { redis, mongo } = this.proxies;
    // Without directConnection the driver would connect to the address of the replica set, past the proxy.
    return {
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      MONGODB_URL: `mongodb://127.0.0.1:${mongo.port}/${databaseName}?directConnection=true`,
    };
  }

  /** Lets all held bytes pass, so that the process can stop. */
  release(): void {
    this.proxies?.redis.release();
    this.proxies?.mongo.release();
  }

  async close(): Promise<void> {
    await this.proxies?.redis.stop();
    await this.proxies?.mongo.stop();
  }
}
