import type { ServiceProcess } from '../service-process.js';
import { type LinkOptions, ServerLink, type ServerProxies } from './server-link.js';

export interface SlotOptions extends LinkOptions {
  /** @param addresses of its servers */
  readonly startGateway: (addresses: Readonly<Record<string, string>>) => Promise<ServiceProcess>;
  /** Called with the exit of a gateway that this slot did not end. */
  readonly onDeath: (how: string) => void;
}

/** Slot of one gateway, which can be killed and started again, with the proxies to its servers. */
export class GatewaySlot {
  private running: ServiceProcess | undefined;
  private readonly stopping = new Set<ServiceProcess>();

  private constructor(
    private readonly options: SlotOptions,
    private readonly link: ServerLink,
  ) {}

  /** Starts the proxies of a proxied gateway, and the gateway. */
  static async open(options: SlotOptions): Promise<GatewaySlot> {
    const slot = new GatewaySlot(options, await ServerLink.open(options));
    await slot.start();
    return slot;
  }

  /** Undefined for a direct gateway. */
  get proxies(): ServerProxies | undefined {
    return this.link.proxies;
  }

  /** The current gateway; undefined while the slot is empty. */
  get gateway(): ServiceProcess | undefined {
    return this.running;
  }

  /** Process ids of the current gateway and of draining ones. */
  get pids(): number[] {
    const own = this.running === undefined ? [] : [this.running];
    return [...own, ...this.stopping].map(({ pid }) => pid);
  }

  /** Address of the current gateway; undefined while the slot is empty. */
  get url(): string | undefined {
    return this.running?.url;
  }

  /**
   * Starts a gateway in the empty slot.
   * @throws Error if it does not become ready
   */
  async start(): Promise<ServiceProcess> {
    const gateway = await this.options.startGateway(this.link.addresses());
    this.running = gateway;
    void gateway.ended.then((how) => {
      if (this.running === gateway) this.options.onDeath(how);
    });
    return gateway;
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
    await this.terminate();
    await this.link.close();
  }
}
