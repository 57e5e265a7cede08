import type { ServiceProcess } from '../stack/service-process.js';
import { FaultProxy } from './fault-proxy.js';

/** How a gateway reaches Redis and MongoDB. */
export type Link = 'direct' | 'proxied';

export interface SlotOptions {
  readonly link: Link;
  readonly redisPort: () => number;
  readonly mongoPort: () => number;
  /** Address of MongoDB for a gateway that reaches it directly. */
  readonly mongoUrl: () => string;
  readonly databaseName: string;
  /** Starts a gateway with these addresses of its servers. */
  readonly startGateway: (addresses: Readonly<Record<string, string>>) => Promise<ServiceProcess>;
  /** Told how a gateway ended that this slot has not ended. */
  readonly onDeath: (how: string) => void;
}

/** The place of one gateway, which may be killed and started again, and the proxies that it reaches its servers through. */
export class GatewaySlot {
  private running: ServiceProcess | undefined;
  private readonly stopping = new Set<ServiceProcess>();

  private constructor(
    private readonly options: SlotOptions,
    /** Undefined for a gateway that reaches its servers directly. */
    readonly proxies: { readonly redis: FaultProxy; readonly mongo: FaultProxy } | undefined,
  ) {}

  /** Starts the proxies, where there are any, and the first gateway. */
  static async open(options: SlotOptions): Promise<GatewaySlot> {
    const slot = new GatewaySlot(
      options,
      options.link === 'direct'
        ? undefined
        : {
            redis: await FaultProxy.start(options.redisPort),
            mongo: await FaultProxy.start(options.mongoPort),
          },
    );
    await slot.start();
    return slot;
  }

  /** The gateway that runs now, or is about to end; undefined when there is none. */
  get gateway(): ServiceProcess | undefined {
    return this.running;
  }

  /** Process ids of the gateway that runs, and of those that finish what they have. */
  get pids(): number[] {
    const own = this.running === undefined ? [] : [this.running];
    return [...own, ...this.stopping].map(({ pid }) => pid);
  }

  /** Where the gateway listens; undefined when there is none. */
  get url(): string | undefined {
    return this.running?.url;
  }

  /**
   * Starts a gateway in the place of the one that has ended.
   * @throws Error when it does not come up
   */
  async start(): Promise<ServiceProcess> {
    const gateway = await this.options.startGateway(this.addresses());
    this.running = gateway;
    void gateway.ended.then((how) => {
      if (this.running === gateway) this.options.onDeath(how);
    });
    return gateway;
  }

  /** Kills the gateway on the spot and waits until it is gone. */
  async kill(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    running?.process.kill('SIGKILL');
    await running?.ended;
  }

  /** Stops the gateway in its tracks: it takes connections and answers nothing, until `thaw`. */
  freeze(): void {
    this.running?.process.kill('SIGSTOP');
  }

  thaw(): void {
    this.running?.process.kill('SIGCONT');
  }

  /** Asks the gateway to stop and waits until it has. It is called no more from now on. Gives how it ended. */
  async terminate(): Promise<string | undefined> {
    const { running } = this;
    this.running = undefined;
    if (running === undefined) return undefined;
    this.stopping.add(running);
    await running.stop();
    this.stopping.delete(running);
    return await running.ended;
  }

  async close(): Promise<void> {
    this.proxies?.redis.release();
    this.proxies?.mongo.release();
    await this.terminate();
    await this.proxies?.redis.stop();
    await this.proxies?.mongo.stop();
  }

  private addresses(): Readonly<Record<string, string>> {
    const { redisPort, mongoUrl, databaseName } = this.options;
    if (this.proxies === undefined)
      return { REDIS_URL: `redis://127.0.0.1:${redisPort()}`, MONGODB_URL: mongoUrl() };
    const { redis, mongo } = this.proxies;
    // Directly: the replica set would tell the driver the server's own address, past the proxy.
    return {
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      MONGODB_URL: `mongodb://127.0.0.1:${mongo.port}/${databaseName}?directConnection=true`,
    };
  }
}
