import {
  type ServiceKind,
  type ServiceLog,
  type ServiceProcess,
  type Settings,
  startService,
} from './service-process.js';

/**
 * The whole service on this machine: gateways, one worker pool and, if asked for, a console and a runner of bulk jobs.
 */
export interface Stack {
  /** The first gateway's address. */
  readonly url: string;
  readonly gateways: readonly ServiceProcess[];
  readonly pool: ServiceProcess;
  readonly runner: ServiceProcess | undefined;
  readonly console: ServiceProcess | undefined;
  /** The address of the console; undefined without one. */
  readonly consoleUrl: string | undefined;
  /** Resolves when any part ends, with its name and signal or exit code. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface StackOptions {
  readonly redisUrl: string;
  readonly mongoUrl: string;
  readonly gateways?: number;
  /** Whether to start a console; false by default. */
  readonly withConsole?: boolean | undefined;
  /** Whether to start a runner of bulk jobs; false by default. */
  readonly withRunner?: boolean | undefined;
  readonly environment?: Settings;
  /** Where their logs go; `inherit` by default. */
  readonly log?: ServiceLog | Readonly<Record<ServiceKind, ServiceLog>>;
  readonly nodeOptions?: readonly string[] | undefined;
  /** Folder of another built release of this project, whose programs run instead. */
  readonly root?: string | undefined;
}

/** Starts gateways and a pool on given servers. Resolves when all of them are ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const {
    redisUrl,
    mongoUrl,
    gateways = 1,
    withConsole = false,
    withRunner = false,
    log = 'inherit',
    nodeOptions,
    root,
  } = options;
  const environment = { ...options.environment, REDIS_URL: redisUrl, MONGODB_URL: mongoUrl };
  const start = (kind: ServiceKind) =>
    startService({ kind, environment, log: typeof log === 'object' ? log[kind] : log, nodeOptions, root });
  const attempts = await Promise.allSettled([
    start('worker'),
    withConsole ? start('console') : undefined,
    withRunner ? start('bulk') : undefined,
    ...Array.from({ length: gateways }, () => start('gateway')),
  ]);
  const [pool, console, runner, ...running] = attempts.map((attempt) =>
    attempt.status === 'fulfilled' ? attempt.value : undefined,
  );
  const started = (services: readonly (ServiceProcess | undefined)[]) => services.filter((each) => each !== undefined);
  const others = started([console, runner, ...running]);
  try {
    for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason;
    if (pool === undefined) throw new Error('the worker pool did not start');
    const gatewaysRunning = started(running);
    const url = gatewaysRunning[0]?.url;
    if (url === undefined) throw new Error('no gateway reported its address');
    const endOf = (name: string, service: ServiceProcess): Promise<string> =>
      service.ended.then((how) => `${name} ended: ${how}`);
    return {
      url,
      pool,
      gateways: gatewaysRunning,
      runner,
      console,
      consoleUrl: console?.url,
      ended: Promise.race([
        endOf('the worker pool', pool),
        ...gatewaysRunning.map((gateway) => endOf('a gateway', gateway)),
        ...started([console]).map((service) => endOf('the console', service)),
        ...started([runner]).map((service) => endOf('the runner of bulk jobs', service)),
      ]),
      // Gateways and runners first: they need workers to finish their calls.
      stop: async () => {
        await Promise.all(others.map((service) => service.stop()));
        await pool.stop();
      },
    };
  } catch (error) {
    await Promise.all(started([pool, ...others]).map((service) => service.stop()));
    throw error;
  }
}
