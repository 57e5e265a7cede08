import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rm, rmdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { childEnvironment, type OperatorConfig, readOperatorConfig } from '../../../shared/config/config.js';
import { messageOf } from '../../../shared/contract/errors.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { endLeftoverServers, type PrivateServers, privateServers } from '../../servers/private-servers.js';
import { acceptsConnections } from '../../servers/server-process.js';
import { notInherited, type Settings } from '../../servers/service-process.js';
import { type Stack, startStack } from '../../servers/stack.js';

/** The environment may hold an installation's settings: they must not reach the demo. */
const clearedSettings: Settings = {
  ...notInherited,
  ...{ REDIS_URL: undefined, MONGODB_URL: undefined, KEY_PEPPER: undefined },
  ...{ CONSOLE_URL: undefined, LOG_LEVEL: undefined },
};

const filesIn = (directory: string) => ({
  leads: join(directory, 'leads.csv'),
  past_leads: join(directory, 'past-leads.csv'),
  changes: join(directory, 'changes.csv'),
  partner: join(directory, 'partner.csv'),
  corrected: join(directory, 'partner.corrected.csv'),
  gateway_log: join(directory, 'gateway.log'),
  workers_log: join(directory, 'workers.log'),
  console_log: join(directory, 'console.log'),
  bulk_log: join(directory, 'bulk.log'),
});

/** The demo's own servers, gateway and worker pool, and the directory with their data, logs and the demo's files. */
export class DemoService {
  readonly config: OperatorConfig = readOperatorConfig(childEnvironment(clearedSettings), availableParallelism());
  readonly files: ReturnType<typeof filesIn>;
  private servers: PrivateServers | undefined;
  private stack: Stack | undefined;

  /** @param directory an absolute path */
  constructor(private readonly directory: string) {
    this.files = filesIn(directory);
  }

  /** A path as a reader would type it: from the project's root when it is inside. */
  shown(path = this.directory): string {
    const fromRoot = relative(projectFile('.'), path);
    return fromRoot.startsWith('..') ? path : fromRoot;
  }

  /**
   * Makes the directory, without the files of an earlier demo.
   * @throws Error when another demo runs on it
   */
  async prepare(): Promise<void> {
    const ownerPid = await endLeftoverServers(this.directory);
    if (ownerPid !== undefined)
      throw new Error(
        `A demo is up already (process ${ownerPid}), with its data in ${this.shown()}.\n` +
          'Stop it first with Ctrl-C where it runs, or add --directory DIR to run another one beside it.',
      );
    await this.removeFiles();
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
  }

  /** Removes everything that a demo creates, nothing else, and the directory when it is empty then. */
  async removeFiles(): Promise<void> {
    const paths = [
      ...Object.values(this.files),
      ...['mongo', 'redis', 'pepper', 'servers.json', 'servers.env'].map((entry) => join(this.directory, entry)),
      // By the command that --keep shows.
      ...['leads.scored.csv', 'leads.errors.csv'].map((name) => join(this.directory, name)),
    ];
    await Promise.all(paths.map((path) => rm(path, { recursive: true, force: true, maxRetries: 3 })));
    await rmdir(this.directory).catch(() => undefined); // it holds other files, or was never made
  }

  async startServers(): Promise<PrivateServers> {
    this.servers = await privateServers({ directory: this.directory, keep: true });
    return this.servers;
  }

  /** @throws Error with the ends of the logs when a process does not start */
  async start(
    { redisUrl, mongoUrl, keyPepper }: PrivateServers,
    { withConsole }: { readonly withConsole: boolean },
  ): Promise<{ url: string; consoleUrl: string | undefined; ended: Promise<Error> }> {
    const [PORT, CONSOLE_PORT] = await Promise.all([this.config.port, this.config.consolePort].map(freeOrAny));
    const ports = { PORT, CONSOLE_PORT, ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', BULK_ADMIN_PORT: '0' };
    const { gateway_log, workers_log, console_log, bulk_log } = this.files;
    const opened = (path: string): number => openSync(path, 'w', 0o600);
    const log = {
      gateway: opened(gateway_log),
      worker: opened(workers_log),
      console: opened(console_log),
      bulk: opened(bulk_log),
    };
    try {
      const environment = { ...clearedSettings, ...ports, KEY_PEPPER: keyPepper };
      this.stack = await startStack({ redisUrl, mongoUrl, withConsole, withRunner: withConsole, environment, log });
    } catch (cause) {
      throw await this.withLogs(messageOf(cause));
    } finally {
      for (const descriptor of Object.values(log)) closeSync(descriptor);
    }
    const { url, consoleUrl, ended } = this.stack;
    return { url, consoleUrl, ended: ended.then((how) => this.withLogs(how)) };
  }

  async stop(): Promise<void> {
    await this.stack?.stop();
    await this.servers?.stop();
  }

  private async withLogs(problem: string): Promise<Error> {
    const { gateway_log, workers_log, console_log, bulk_log } = this.files;
    const ends = [gateway_log, workers_log, console_log, bulk_log].map(async (path) => {
      const lines = (await readFile(path, 'utf8')).trimEnd().split('\n').slice(-4);
      return `The end of ${this.shown(path)}:\n${lines.map((line) => `  ${line.slice(0, 200)}`).join('\n')}`;
    });
    return new Error([problem, ...(await Promise.all(ends))].join('\n'));
  }
}

/** A port as a setting, or any port if something runs there. */
const freeOrAny = async (port: number): Promise<string> => String((await acceptsConnections(port)) ? 0 : port);
