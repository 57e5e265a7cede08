import type { ServiceProcess } from '../service-process.js';
import { type LinkOptions, ServerLink, type ServerProxies } from './server-link.js';

export interface SlotOptions extends LinkOptions {
  /** @param addresses of its servers */
  readonly startProcess: (addresses: Readonly<Record<string, string>>) => Promise<ServiceProcess>;
  /** Called with the exit of a process that this slot did not end. */
  readonly onDeath: (how: string) => void;
}

/** Slot of one gateway or runner, which can be killed and started again, with the proxies to its servers. */
export class ServiceSlot {
  private running: ServiceProcess | undefined;
  private readonly stopping = new Set<ServiceProcess>();

  private constructor(
    private readonly options: SlotOptions,
    private readonly link: ServerLink,
  ) {}

  /** Starts the proxies of a proxied process, and the process. */
  static async open(options: SlotOptions): Promise<ServiceSlot> {
    const slot = new ServiceSlot(options, await ServerLink.open(options));
    await slot.start();
    return slot;
  }

  /** Undefined for a direct process. */
  get proxies(): ServerProxies | undefined {
    return this.link.proxies;
  }

  /** The current process; undefined while the slot is empty. */
  get service(): ServiceProcess | undefined {
    return this.running;
  }

  /** Process ids of the current process and of draining ones. */
  get pids(): number[] {
    const own = this.running === undefined ? [] : [this.running];
    return [...own, ...this.stopping].map(({ pid }) => pid);
  }

  /** Address of the current gateway; undefined while the slot is empty. */
  get url(): string | undefined {
    return this.running?.url;
  }

  /**
   * Starts a process in the empty slot.
   * @throws Error if it does not become ready
   */
  async start(): Promise<ServiceProcess> {
    const started = await this.options.startProcess(this.link.addresses());
    this.running = started;
    void started.ended.then((how) => {
      if (this.running === started) this.options.onDeath(how);
    });
    return started;
  }

  /** SIGKILL; waits for the end. */
  async kill(): Promise<void> {
    const { running } = this;
    this.running = undefined;
    running?.process.kill('SIGKILL');
    await running?.ended;
  }

  /** SIGSTOP: the kernel accepts connections, but nothing is answered until `thaw`. */
  freeze(): void {
    this.running?.process.kill('SIGSTOP');
  }

  thaw(): void {
    this.running?.process.kill('SIGCONT');
  }

  /**
   * SIGTERM; waits for the end. The slot is empty at once, so the load uses other gateways.
   * @returns exit code or signal
   */
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
    this.link.release();
    this.thaw();
    await this.terminate();
    await this.link.close();
  }
}
