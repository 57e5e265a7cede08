import { type ServiceKind, type ServiceLog, type ServiceProcess, startService } from './service-process.js';

/** The whole service on this machine: gateways and one worker pool. */
export interface Stack {
  /** The first gateway's address. */
  readonly url: string;
  readonly gateways: readonly ServiceProcess[];
  readonly pool: ServiceProcess;
  /** Resolves when any part ends, with its name and signal or exit code. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface StackOptions {
  readonly redisUrl: string;
  readonly mongoUrl: string;
  readonly gateways?: number;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where their logs go; `inherit` by default. */
  readonly log?: ServiceLog | Readonly<Record<ServiceKind, ServiceLog>>;
  readonly nodeOptions?: readonly string[];
}

/** Starts gateways and a pool on given servers. Resolves when all of them are ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { redisUrl, mongoUrl, gateways = 1, log = 'inherit', nodeOptions } = options;
  const environment = { ...options.environment, REDIS_URL: redisUrl, MONGODB_URL: mongoUrl };
  const start = (kind: ServiceKind) =>
    startService({ kind, environment, log: typeof log === 'object' ? log[kind] : log, nodeOptions });
  const attempts = await Promise.allSettled([
    start('worker'),
    ...Array.from({ length: gateways }, () => start('gateway')),
  ]);
  const started = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? attempt.value : []));
  try {
    for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason;
    const [pool, ...running] = started;
    if (pool === undefined) throw new Error('the worker pool did not start');
    const url = running[0]?.url;
    if (url === undefined) throw new Error('no gateway reported its address');
    return {
      url,
      pool,
      gateways: running,
      ended: Promise.race([
        pool.ended.then((how) => `the worker pool ended: ${how}`),
        ...running.map((gateway) => gateway.ended.then((how) => `a gateway ended: ${how}`)),
      ]),
      // Gateways first: they need workers to finish their calls.
      stop: async () => {
        await Promise.all(running.map((gateway) => gateway.stop()));
        await pool.stop();
      },
    };
  } catch (error) {
    await Promise.all(started.map((service) => service.stop()));
    throw error;
  }
}
