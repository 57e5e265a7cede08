import { closeSync, openSync, statSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors.js';
import { childProcessIds } from '../bench/process-usage.js';
import { startMongo } from '../local-servers/mongo-server.js';
import { startRedis } from '../local-servers/redis-server.js';
import { type LocalServer, signal } from '../local-servers/server-process.js';
import { type ServiceProcess, startService } from '../stack/service-process.js';
import { GatewaySlot, type Link } from './gateway-slot.js';

export interface ClusterOptions {
  /** One a gateway. */
  readonly gateways: readonly Link[];
  /** Of gateways and pools. */
  readonly settings: Settings;
}

/** By the names of environment variables; undefined leaves one out. */
type Settings = Readonly<Record<string, string | undefined>>;
type ServerName = 'redis' | 'mongo';

const databaseName = 'leadscore';

/**
 * The whole service with servers of its own in a temporary directory, to be harmed: Redis and MongoDB can be frozen and
 * killed, gateways and workers as well, and the connections of a proxied gateway can be cut. It knows which processes it
 * was told to kill, so that one that went by itself is noticed.
 */
export class Cluster {
  private readonly slots: GatewaySlot[] = [];
  private readonly servers = new Map<ServerName, LocalServer>();
  private readonly pools: ServiceProcess[] = [];
  private readonly undoings: (() => unknown)[] = [];
  private readonly deaths: string[] = [];
  private readonly log: number;
  private stopping: Promise<void> | undefined;

  private constructor(
    private readonly options: ClusterOptions,
    private readonly directory: string,
  ) {
    this.log = openSync(this.logFile, 'a', 0o600);
    this.undoings.push(
      () => rm(directory, { recursive: true, force: true }),
      () => closeSync(this.log),
    );
  }

  /**
   * Starts the servers, a worker pool and the gateways.
   * @throws Error with the service's log when one does not come up
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

  /** Names the database. */
  get mongoUrl(): string {
    const url = new URL(this.server('mongo').url);
    url.pathname = `/${databaseName}`;
    return url.href;
  }

  /** The newest pool. */
  get pool(): ServiceProcess {
    const pool = this.pools.at(-1);
    if (pool === undefined) throw new Error('there is no worker pool');
    return pool;
  }

  /** How gateways and pools ended that were not told to. */
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

  /** Stops a server in its tracks: it takes connections and answers nothing, until `thaw`. */
  freeze(name: ServerName): void {
    signal(this.server(name).pid, 'SIGSTOP');
  }

  thaw(name: ServerName): void {
    signal(this.server(name).pid, 'SIGCONT');
  }

  /** Kills a server and waits until it is gone. */
  async kill(name: ServerName): Promise<void> {
    const { process: child } = this.server(name);
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  /** Removes the data of a server that was killed. */
  async loseData(name: ServerName): Promise<void> {
    await rm(this.directoryOf(name), { recursive: true, force: true });
  }

  /** Keeps a copy of a server's data as it is on disk now, for `returnToCopy`. */
  async keepCopy(name: ServerName): Promise<void> {
    await cp(this.directoryOf(name), this.copyOf(name), { recursive: true, force: true });
  }

  /** Puts the copy in the place of the data of a server that was killed. */
  async returnToCopy(name: ServerName): Promise<void> {
    await this.loseData(name);
    await cp(this.copyOf(name), this.directoryOf(name), { recursive: true });
  }

  /** Starts a server that was killed again, on its port and data. */
  async revive(name: ServerName): Promise<void> {
    const { port } = this.server(name);
    this.servers.set(name, await this.startServer(name, port));
  }

  /**
   * Starts a further gateway.
   * @param settings that differ from those of the others
   * @returns its place, which is also the last of `gateways`
   */
  async addGateway(link: Link, settings: Settings): Promise<GatewaySlot> {
    const slot = await this.openSlot(link, settings);
    this.slots.push(slot);
    return slot;
  }

  /** Starts a further worker pool. */
  async startPool(): Promise<ServiceProcess> {
    const pool = await this.startPart('worker', { REDIS_URL: this.redisUrl, MONGODB_URL: this.mongoUrl });
    this.pools.push(pool);
    void pool.ended.then((how) => {
      if (this.pools.includes(pool)) this.deaths.push(`a worker pool: ${how}`);
    });
    return pool;
  }

  /** Asks a pool to stop and waits until it has. Gives how it ended. */
  async stopPool(pool: ServiceProcess): Promise<string> {
    this.pools.splice(this.pools.indexOf(pool), 1);
    await pool.stop();
    return pool.ended;
  }

  /** Kills a pool on the spot; its workers see that it has gone and end. */
  async killPool(pool: ServiceProcess): Promise<void> {
    this.pools.splice(this.pools.indexOf(pool), 1);
    const workers = childProcessIds(pool.pid);
    pool.process.kill('SIGKILL');
    await pool.ended;
    // One that was stopped would see nothing, for ever.
    for (const worker of workers) signal(worker, 'SIGCONT');
  }

  /** What gateways and pools have logged so far, as JSON lines. */
  readLog(): Promise<string> {
    return readFile(this.logFile, 'utf8');
  }

  /** Stops all of it in good order. Idempotent. */
  stop(): Promise<void> {
    this.stopping ??= this.stopAll();
    return this.stopping;
  }

  private get logFile(): string {
    return join(this.directory, 'service.log');
  }

  private async startAll(): Promise<void> {
    this.undoings.push(() => this.stopServers());
    await Promise.all(
      (['redis', 'mongo'] as const).map(async (name) =>
        this.servers.set(name, await this.startServer(name, undefined)),
      ),
    );
    this.undoings.push(() => Promise.all(this.pools.splice(0).map((pool) => pool.stop())));
    const opened = this.options.gateways.map((link) => this.openSlot(link, {}));
    const starting = [
      this.startPool(),
      ...opened.map(async (slot, index) => (this.slots[index] = await slot)),
    ];
    this.undoings.push(() => Promise.all(this.slots.map((slot) => slot.close())));
    await Promise.all(starting);
  }

  /** @throws Error with the line of the log that says why, when it does not come up */
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
    return name === 'redis' ? startRedis({ directory, port }) : startMongo({ directory, port });
  }

  private async stopServers(): Promise<void> {
    for (const [name, server] of this.servers) {
      this.thaw(name);
      await server.stop();
    }
  }

  /** A part that was frozen would outlive this process. */
  private endWithThisProcess(part: ServiceProcess): void {
    const kill = (): void => {
      part.process.kill('SIGKILL');
    };
    process.on('exit', kill);
    void part.ended.then(() => process.off('exit', kill));
  }

  private async stopAll(): Promise<void> {
    for (const undo of this.undoings.reverse()) await undo();
  }
}
