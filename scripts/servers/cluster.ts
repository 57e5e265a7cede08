import { closeSync, openSync, statSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../shared/contract/errors.js';
import { GatewaySlot, type Link } from './gateway-slot.js';
import { startMongo } from './mongo-server.js';
import { childProcessIds } from './process-usage.js';
import { startRedis } from './redis-server.js';
import { type LocalServer, signal } from './server-process.js';
import { type ServiceProcess, startService } from './service-process.js';

export interface ClusterOptions {
  /** One per gateway. */
  readonly gateways: readonly Link[];
  /** Environment of gateways and pools. */
  readonly settings: Settings;
}

/** Environment variables; undefined removes one. */
type Settings = Readonly<Record<string, string | undefined>>;
type ServerName = 'redis' | 'mongo';

const databaseName = 'leadscore';

/**
 * The whole service with its own servers in a temporary directory, for fault injection. Redis, MongoDB, gateways and
 * workers can be frozen and killed; the connections of a proxied gateway can be cut. Unrequested exits are recorded.
 */
export class Cluster {
  private readonly slots: GatewaySlot[] = [];
  private readonly servers = new Map<ServerName, LocalServer>();
  private readonly pools: ServiceProcess[] = [];
  private readonly cleanups: (() => unknown)[] = [];
  private readonly deaths: string[] = [];
  private readonly log: number;
  private stopping: Promise<void> | undefined;

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

  get gateways(): readonly GatewaySlot[] {
    return this.slots;
  }

  get redisUrl(): string {
    return this.server('redis').url;
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

  /** Exits of gateways and pools that this cluster did not request. */
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
    await rm(this.directoryOf(name), { recursive: true, force: true });
  }

  /** Copies a server's data on disk, for `returnToCopy`. */
  async keepCopy(name: ServerName): Promise<void> {
    await cp(this.directoryOf(name), this.copyOf(name), { recursive: true, force: true });
  }

  /** Replaces the data of a killed server with the copy. */
  async returnToCopy(name: ServerName): Promise<void> {
    await this.loseData(name);
    await cp(this.copyOf(name), this.directoryOf(name), { recursive: true });
  }

  /** Starts a killed server again, on its port and data. */
  async revive(name: ServerName): Promise<void> {
    const { port } = this.server(name);
    this.servers.set(name, await this.startServer(name, port));
  }

  /**
   * Starts another gateway.
   * @param settings in addition to those of the cluster
   * @returns its slot, which is also the last of `gateways`
   */
  async addGateway(link: Link, settings: Settings): Promise<GatewaySlot> {
    const slot = await this.openSlot(link, settings);
    this.slots.push(slot);
    return slot;
  }

  /** Starts another worker pool. */
  async startPool(): Promise<ServiceProcess> {
    const pool = await this.startPart('worker', { REDIS_URL: this.redisUrl, MONGODB_URL: this.mongoUrl });
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
    await Promise.all(
      (['redis', 'mongo'] as const).map(async (name) =>
        this.servers.set(name, await this.startServer(name, undefined)),
      ),
    );
    this.cleanups.push(() => Promise.all(this.pools.splice(0).map((pool) => pool.stop())));
    const opened = this.options.gateways.map((link) => this.openSlot(link, {}));
    const starting = [this.startPool(), ...opened.map(async (slot, index) => (this.slots[index] = await slot))];
    this.cleanups.push(() => Promise.all(this.slots.map((slot) => slot.close())));
    await Promise.all(starting);
  }

  /** @throws Error with the fatal line of the log if the part does not become ready */
  private async startPart(kind: 'gateway' | 'worker', settings: Settings): Promise<ServiceProcess> {
    const environment = { ...this.options.settings, ...settings };
    const loggedBefore = statSync(this.logFile).size;
    try {
      const part = await startService({ kind, environment, log: this.log });
      this.endWithThisProcess(part);
      return part;
    } catch (cause) {
      const lines = (await readFile(this.logFile)).subarray(loggedBefore).toString('utf8').split('\n');
      const last = lines.findLast((line) => line.includes('"level":"fatal"'));
      throw new Error(`${messageOf(cause)}${last === undefined ? '' : `; ${last}`}`, { cause });
    }
  }

  private openSlot(link: Link, settings: Settings): Promise<GatewaySlot> {
    return GatewaySlot.open({
      link,
      redisPort: () => this.server('redis').port,
      mongoPort: () => this.server('mongo').port,
      mongoUrl: () => this.mongoUrl,
      databaseName,
      startGateway: (addresses) => this.startPart('gateway', { ...settings, ...addresses }),
      onDeath: (how) => this.deaths.push(`a gateway: ${how}`),
    });
  }

  private directoryOf(name: ServerName): string {
    return join(this.directory, name);
  }

  private copyOf(name: ServerName): string {
    return join(this.directory, `${name}-copy`);
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

  /** A frozen part would otherwise outlive this process. */
  private endWithThisProcess(part: ServiceProcess): void {
    const kill = (): void => {
      part.process.kill('SIGKILL');
    };
    process.on('exit', kill);
    void part.ended.then(() => process.off('exit', kill));
  }

  private async stopAll(): Promise<void> {
    for (const cleanUp of this.cleanups.reverse()) await cleanUp();
  }
}
