import type { ServiceProcess } from '../service-process.js';
import { type LinkOptions, ServerLink, type ServerProxies } from './server-link.js';

export interface RunnerSlotOptions extends LinkOptions {
  /** @param addresses of its servers */
  readonly startRunner: (addresses: Readonly<Record<string, string>>) => Promise<ServiceProcess>;
  /** Called with the exit of a runner that this slot did not end. */
  readonly onDeath: (how: string) => void;
}

/** The slot of a runner of bulk jobs, which can be killed and started again, with the proxies to its servers. */
export class RunnerSlot {
  private running: ServiceProcess | undefined;

  private constructor(
    private readonly options: RunnerSlotOptions,
    private readonly link: ServerLink,
  ) {}

  /** Starts the proxies of a proxied runner, and the runner. */
  static async open(options: RunnerSlotOptions): Promise<RunnerSlot> {
    const slot = new RunnerSlot(options, await ServerLink.open(options));
    await slot.start();
    return slot;
  }

  /** Undefined for a direct runner. */
  get proxies(): ServerProxies | undefined {
    return this.link.proxies;
  }

  /** Undefined while the slot is empty. */
  get pid(): number | undefined {
    return this.running?.pid;
  }

  /**
   * Starts a runner in the empty slot.
   * @throws Error if it does not become ready
   */
  async start(): Promise<void> {
    const runner = await this.options.startRunner(this.link.addresses());
    this.running = runner;
    void runner.ended.then((how) => {
      if (this.running === runner) this.options.onDeath(how);
    });
  }

  /** SIGKILL, or SIGTERM; waits for the end. @returns the exit code or signal; undefined for an empty slot */
  async end(how: 'SIGKILL' | 'SIGTERM'): Promise<string | undefined> {
    const { running } = this;
    this.running = undefined;
    if (how === 'SIGTERM') await running?.stop();
    else running?.process.kill(how);
    return await running?.ended;
  }

  /** SIGSTOP until `thaw`. */
  freeze(): void {
    this.running?.process.kill('SIGSTOP');
  }

  thaw(): void {
    this.running?.process.kill('SIGCONT');
  }

  async close(): Promise<void> {
    this.link.release();
    this.thaw();
    await this.end('SIGTERM');
    await this.link.close();
  }
}
