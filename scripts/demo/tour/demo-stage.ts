import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { type Config, childEnvironment, readConfig } from '../../../shared/config.js';
import { messageOf } from '../../../shared/errors.js';
import {
  type DatabaseUrls,
  type PrivateServers,
  privateServers,
} from '../../local-servers/private-servers.js';
import { type ServiceProcess, startService } from '../../stack/service-process.js';
import { type DemoDirectory, shortPath } from './demo-directory.js';
import { DemoProblem } from './demo-problem.js';

type PartKind = 'gateway' | 'worker';

/** A service that answers calls. */
export interface RunningService {
  readonly url: string;
  /** Worker processes. */
  readonly workers: number;
  /** Resolves when a part of it ends, with what to say about that. */
  readonly ended: Promise<DemoProblem>;
}

/** What the environment may say about an installation, and must not say about the demo. */
const notOfTheDemo = {
  REDIS_URL: undefined,
  MONGODB_URL: undefined,
  KEY_PEPPER: undefined,
  HOST: undefined,
  BASE_URL: undefined,
  DOCS_URL: undefined,
  CLOCK_OFFSET_MS: undefined,
  LOG_LEVEL: undefined,
};

/**
 * 1. Starts a Redis and a MongoDB of the demo's own.
 * 2. Starts a gateway and a worker pool on them, with their logs in files.
 * 3. Stops whatever of it was started, in reverse, once.
 */
export class DemoStage {
  /** The settings that the demo's service runs with, as far as they do not say where it listens. */
  readonly config: Config = readConfig(childEnvironment(notOfTheDemo), availableParallelism());
  private servers: PrivateServers | undefined;
  private readonly parts = new Map<PartKind, ServiceProcess>();
  private stopping: Promise<void> | undefined;

  constructor(private readonly directory: DemoDirectory) {}

  /** @throws DemoProblem when one of the servers is missing or does not start */
  async startServers(): Promise<DatabaseUrls> {
    try {
      this.servers = await privateServers({ directory: this.directory.path, keep: true });
      return this.servers;
    } catch (cause) {
      throw new DemoProblem(`Redis or MongoDB did not start. ${messageOf(cause)}`, { cause });
    }
  }

  /** @throws DemoProblem with the end of the log of the part that does not start */
  async startService(urls: DatabaseUrls): Promise<RunningService> {
    const port = (await isFree(this.config)) ? this.config.port : 0;
    const environment = {
      ...notOfTheDemo,
      REDIS_URL: urls.redisUrl,
      MONGODB_URL: urls.mongoUrl,
      PORT: String(port),
      ADMIN_PORT: '0',
      WORKER_ADMIN_PORT: '0',
    };
    // Both are awaited whatever comes of either: one that is still starting must be stopped too.
    const [gateway, pool] = await Promise.allSettled([
      this.startPart('gateway', environment),
      this.startPart('worker', environment),
    ]);
    if (gateway.status === 'rejected')
      throw await this.partProblem('gateway', 'did not start', gateway.reason);
    if (pool.status === 'rejected') throw await this.partProblem('worker', 'did not start', pool.reason);
    const { url } = gateway.value;
    if (url === undefined) throw new DemoProblem('The gateway did not say where it listens.');
    const ended = Promise.race([
      gateway.value.ended.then((how) => this.partProblem('gateway', `ended (${how})`)),
      pool.value.ended.then((how) => this.partProblem('worker', `ended (${how})`)),
    ]);
    return { url, workers: this.config.workers, ended };
  }

  /** Stops everything that was started, the gateway first: the calls that it has are answered, which takes workers. */
  stop(): Promise<void> {
    this.stopping ??= this.stopInReverse();
    return this.stopping;
  }

  private async startPart(
    kind: PartKind,
    environment: Readonly<Record<string, string | undefined>>,
  ): Promise<ServiceProcess> {
    const log = openSync(this.directory.file(logOf[kind]), 'w', 0o600);
    try {
      const service = await startService({ kind, environment, log });
      this.parts.set(kind, service);
      return service;
    } finally {
      closeSync(log);
    }
  }

  private async partProblem(kind: PartKind, what: string, cause?: unknown): Promise<DemoProblem> {
    const lines = await this.directory.endOfLog(logOf[kind]);
    const path = shortPath(this.directory.file(logOf[kind]));
    const name = kind === 'gateway' ? 'gateway' : 'worker pool';
    return new DemoProblem(`The ${name} ${what}. The end of ${path}:\n${lines}`, { cause });
  }

  private async stopInReverse(): Promise<void> {
    await this.parts.get('gateway')?.stop();
    await this.parts.get('worker')?.stop();
    await this.servers?.stop();
  }
}

const logOf = { gateway: 'gatewayLog', worker: 'workersLog' } as const;

/** Whether a gateway could listen on the usual port. */
async function isFree({ host, port }: Pick<Config, 'host' | 'port'>): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
