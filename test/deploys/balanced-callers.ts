import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { sendCall, unanswered } from '../../scripts/load/send-call.js';

/** Outcome of one call. */
export interface BalancedOutcome {
  readonly records: number;
  /** 0 without an answer. */
  readonly status: number;
  readonly tookMs: number;
  /** Body of the answer, or the connection error. */
  readonly text: string;
}

export interface CallersOptions {
  readonly callers: number;
  readonly secret: string;
  /** Body of the next call and its number of records. */
  readonly nextCall: () => { readonly body: string; readonly records: number };
}

const healthEveryMs = 250; // readiness check of the balancer
const pauseMs = 15; // between two calls of a caller, so that new processes get CPU time to start

/**
 * Callers behind a balancer, with kept connections. Each call goes to the next gateway in rotation. The balancer checks
 * `/readyz` of each gateway four times a second and removes an unready one from the rotation. It retries nothing: every
 * failed call is an outcome.
 */
export class BalancedCallers {
  readonly outcomes: BalancedOutcome[] = [];
  private readonly agent = new Agent({ keepAlive: true });
  private readonly rotation = new Set<string>();
  private readonly gateways = new Set<string>();
  private readonly running: Promise<void>[];
  private isOver = false;
  private calls = 0;

  constructor(
    urls: readonly string[],
    private readonly options: CallersOptions,
  ) {
    for (const url of urls) this.add(url);
    this.running = Array.from({ length: options.callers }, () => this.callRepeatedly());
    this.running.push(this.watch());
  }

  /** Adds a ready gateway. */
  add(url: string): void {
    this.gateways.add(url);
    this.rotation.add(url);
  }

  /** Removes a gateway that has ended. */
  remove(url: string): void {
    this.gateways.delete(url);
    this.rotation.delete(url);
  }

  /** Resolves when `count` more calls have ended. */
  async afterCalls(count: number): Promise<void> {
    const until = this.outcomes.length + count;
    while (this.outcomes.length < until) await pause(5);
  }

  /** Makes no more calls, and waits for those in flight. */
  async stop(): Promise<readonly BalancedOutcome[]> {
    this.isOver = true;
    await Promise.all(this.running);
    this.agent.destroy();
    return this.outcomes;
  }

  private async callRepeatedly(): Promise<void> {
    while (!this.isOver) {
      const { body, records } = this.options.nextCall();
      const sentMs = performance.now();
      const answer = await this.send(`${this.nextGateway()}/v1/score`, body);
      this.outcomes.push({ ...answer, records, tookMs: performance.now() - sentMs });
      await pause(pauseMs);
    }
  }

  private nextGateway(): string {
    const urls = [...this.rotation];
    const url = urls[this.calls++ % urls.length];
    if (url === undefined) throw new Error('no gateway is in rotation');
    return url;
  }

  private async watch(): Promise<void> {
    while (!this.isOver) {
      await Promise.all([...this.gateways].map((url) => this.check(url)));
      await pause(healthEveryMs);
    }
  }

  private async check(url: string): Promise<void> {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isReady && this.gateways.has(url)) this.rotation.add(url);
    else this.rotation.delete(url);
  }

  private send(url: string, body: string): Promise<{ status: number; text: string }> {
    return sendCall(url, { agent: this.agent, secret: this.options.secret, body }).then(
      (answer) => ({ status: answer.status, text: answer.body.toString() }),
      (error: unknown) => ({ status: 0, text: unanswered(error).message }),
    );
  }
}
