import { closeSync, openSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settledOrThrow } from '../../shared/async/timeouts.js';
import { startMongo } from './mongo-server.js';
import { childProcessIds } from './process-usage.js';
import { type RedisCluster, startRedisCluster } from './redis/redis-cluster.js';
import { startRedis } from './redis/redis-server.js';
import { type LocalServer, signal } from './server-process.js';
import { type ServiceKind, type ServiceProcess, type Settings, startPart } from './service-process.js';
import type { Link } from './slots/server-link.js';
import { ServiceSlot } from './slots/service-slot.js';

export interface ClusterOptions {
  /** One per gateway. */
  readonly gateways: readonly Link[];
  /** Environment of gateways, runners and pools. */
  readonly settings: Settings;
  /** One per runner of bulk jobs; none by default. */
  readonly runners?: readonly Link[];
  /** Whether Redis is a Redis Cluster of three masters. Its gateways must be direct. */
  readonly onRedisCluster?: boolean;
}

/** `redis` is the first node of a Redis Cluster. */
export type ServerName = 'redis' | 'redis-1' | 'redis-2' | 'mongo';

const databaseName = 'leadscore';
const redisNames: readonly ServerName[] = ['redis', 'redis-1', 'redis-2'];

/**
 * The whole service with its own servers in a temporary directory, for fault injection. Redis, MongoDB, gateways and
 * workers can be frozen and killed; the connections of a proxied gateway can be cut. Unrequested exits are recorded.
 */
export class Cluster {
  readonly gateways: ServiceSlot[] = [];
  /** The runners of bulk jobs. */
  readonly runners: ServiceSlot[] = [];
  private readonly servers = new Map<ServerName, LocalServer>();
  private readonly pools: ServiceProcess[] = [];
  private readonly cleanups: (() => unknown)[] = [];
  private readonly deaths: string[] = [];
  private readonly log: number;
  private stopping: Promise<void> | undefined;
  private redisCluster: RedisCluster | undefined;

  private constructor(
    private readonly options: ClusterOptions,
    private readonly directory: string,
  ) {
    this.log = openSync(this.logFile, 'a', 0o600);
    this.cleanups.push(
      () => rm(directory, { recursive: true, force: true }),
      () => closeSync(this.log),
    );
  }

  /**
   * Starts the servers, a worker pool and the gateways.
   * @throws Error with the service's log if a part does not become ready
   */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options, await mkdtemp(join(tmpdir(), 'leadscore-cluster-')));
    try {
      await cluster.startAll();
      return cluster;
    } catch (cause) {
      const log = await cluster.readLog();
      await cluster.stop();
      throw new Error(`the service did not start:\n${log}`, { cause });
    }
  }

  get redisUrl(): string {
    return this.redisCluster?.url ?? this.server('redis').url;
  }

  /** The server, or the masters of the Redis Cluster. */
  get redisServers(): readonly ServerName[] {
    return redisNames.slice(0, this.redisCluster?.nodes.length ?? 1);
  }

  /** With the name of the database. */
  get mongoUrl(): string {
    const url = new URL(this.server('mongo').url);
    url.pathname = `/${databaseName}`;
    return url.href;
  }

  /** The latest pool. */
  get pool(): ServiceProcess {
    const pool = this.pools.at(-1);
    if (pool === undefined) throw new Error('no worker pool runs');
    return pool;
  }

  /** Exits of gateways, runners and pools that this cluster did not request. */
  get unexpectedDeaths(): readonly string[] {
    return this.deaths;
  }

  /** Process ids of the workers of all pools. */
  workerPids(): number[] {
    return this.pools.flatMap((pool) => childProcessIds(pool.pid));
  }

  server(name: ServerName): LocalServer {
    const server = this.servers.get(name);
    if (server === undefined) throw new Error(`${name} does not run`);
    return server;
  }

  /** SIGSTOP: the kernel accepts connections, but nothing is answered until `thaw`. */
  freeze(name: ServerName): void {
    signal(this.server(name).pid, 'SIGSTOP');
  }

  thaw(name: ServerName): void {
    signal(this.server(name).pid, 'SIGCONT');
  }

  /** SIGKILL; waits for the end. */
  async kill(name: ServerName): Promise<void> {
    const { process: child } = this.server(name);
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  /** Removes the data of a killed server. */
  async loseData(name: ServerName): Promise<void> {
    await rm(this.dataOf(name), { recursive: true, force: true });
  }

  /** Copies a server's data on disk, for `returnToCopy`. */
  async keepCopy(name: ServerName): Promise<void> {
    await cp(this.dataOf(name), this.directoryOf(`${name}-copy`), { recursive: true, force: true });
  }

  /** Replaces the data of a killed server with the copy. */
  async returnToCopy(name: ServerName): Promise<void> {
    await this.loseData(name);
    await cp(this.directoryOf(`${name}-copy`), this.dataOf(name), { recursive: true });
  }

  /** Starts a killed server again, on its port and data. */
  async revive(name: ServerName): Promise<void> {
    const { port } = this.server(name);
    const node = name === 'mongo' ? undefined : this.redisCluster?.revive(redisNames.indexOf(name));
    this.servers.set(name, await (node ?? this.startServer(name, port)));
  }

  /**
   * Starts another gateway.
   * @param settings in addition to those of the cluster
   * @param root folder of another built release
   * @returns its slot, which is also the last of `gateways`
   */
  async addGateway(link: Link, settings: Settings, root?: string): Promise<ServiceSlot> {
    const slot = await this.openSlot('gateway', link, { settings, root });
    this.gateways.push(slot);
    return slot;
  }

  /**
   * Starts another runner of bulk jobs.
   * @returns its slot, which is also the last of `runners`
   */
  async addRunner(link: Link): Promise<ServiceSlot> {
    const slot = await this.openSlot('bulk', link);
    this.runners.push(slot);
    return slot;
  }

  /**
   * Starts another worker pool.
   * @param root folder of another built release
   */
  async startPool(root?: string): Promise<ServiceProcess> {
    const pool = await this.startPart('worker', { REDIS_URL: this.redisUrl, MONGODB_URL: this.mongoUrl }, root);
    this.pools.push(pool);
    void pool.ended.then((how) => {
      if (this.pools.includes(pool)) this.deaths.push(`a worker pool: ${how}`);
    });
    return pool;
  }

  /** SIGTERM; waits for the end and returns the exit code or signal. */
  async stopPool(pool: ServiceProcess): Promise<string> {
    this.pools.splice(this.pools.indexOf(pool), 1);
    await pool.stop();
    return pool.ended;
  }

  /** SIGKILL for the parent of a pool. Its workers notice the end of the parent and exit. */
  async killPool(pool: ServiceProcess): Promise<void> {
    this.pools.splice(this.pools.indexOf(pool), 1);
    const workers = childProcessIds(pool.pid);
    pool.process.kill('SIGKILL');
    await pool.ended;
    // A worker under SIGSTOP would never notice.
    for (const worker of workers) signal(worker, 'SIGCONT');
  }

  /** Log of gateways and pools so far, as JSON lines. */
  readLog(): Promise<string> {
    return readFile(this.logFile, 'utf8');
  }

  /** Stops everything in order. Idempotent. */
  stop(): Promise<void> {
    this.stopping ??= this.stopAll();
    return this.stopping;
  }

  private get logFile(): string {
    return join(this.directory, 'service.log');
  }

  private async startAll(): Promise<void> {
    this.cleanups.push(() => this.stopServers());
    const mongo = this.startServer('mongo', undefined).then((server) => this.servers.set('mongo', server));
    // A part that starts while another one fails must be known before `stop`.
    await settledOrThrow([mongo, this.startRedisServers()]);
    this.cleanups.push(() => Promise.all(this.pools.splice(0).map((pool) => pool.stop())));
    const opened = this.options.gateways.map((link) => this.openSlot('gateway', link));
    const starting = [this.startPool(), ...opened.map(async (slot, index) => (this.gateways[index] = await slot))];
    this.cleanups.push(() => Promise.all(this.gateways.map((slot) => slot.close())));
    await settledOrThrow(starting);
    this.cleanups.push(() => Promise.all(this.runners.map((slot) => slot.close())));
    for (const link of this.options.runners ?? []) await this.addRunner(link);
  }

  private startPart(kind: ServiceKind, settings: Settings, root?: string): Promise<ServiceProcess> {
    const log = { file: this.logFile, descriptor: this.log };
    return startPart(kind, { ...this.options.settings, ...settings }, log, root);
  }

  private openSlot(
    kind: 'gateway' | 'bulk',
    link: Link,
    { settings, root }: { readonly settings?: Settings; readonly root?: string | undefined } = {},
  ): Promise<ServiceSlot> {
    return ServiceSlot.open({
      link,
      redisUrl: () => this.redisUrl,
      redisPort: () => this.server('redis').port,
      mongoPort: () => this.server('mongo').port,
      mongoUrl: () => this.mongoUrl,
      databaseName,
      startProcess: (addresses) => this.startPart(kind, { ...settings, ...addresses }, root),
      onDeath: (how) => this.deaths.push(`${kind === 'bulk' ? 'a runner' : 'a gateway'}: ${how}`),
    });
  }

  private async startRedisServers(): Promise<void> {
    if (this.options.onRedisCluster !== true) {
      this.servers.set('redis', await this.startServer('redis', undefined));
      return;
    }
    this.redisCluster = await startRedisCluster({ directory: this.directoryOf('redis'), appendOnly: true });
    for (const [index, node] of this.redisCluster.nodes.entries()) this.servers.set(redisNames[index] ?? 'redis', node);
  }

  /** A node of a Redis Cluster without its data keeps its id and its slots. */
  private dataOf(name: ServerName): string {
    const ofNode = name === 'mongo' ? undefined : this.redisCluster?.dataOf(redisNames.indexOf(name));
    return ofNode ?? this.directoryOf(name);
  }

  private directoryOf(name: string): string {
    return join(this.directory, name);
  }

  private startServer(name: ServerName, port: number | undefined): Promise<LocalServer> {
    const directory = this.directoryOf(name);
    if (name === 'redis') return startRedis({ directory, port });
    return startMongo({ directory, port, withFailPoints: true });
  }

  private async stopServers(): Promise<void> {
    for (const [name, server] of this.servers) {
      this.thaw(name);
      await server.stop();
    }
  }

  private async stopAll(): Promise<void> {
    for (const cleanUp of this.cleanups.reverse()) await cleanUp();
  }
}
