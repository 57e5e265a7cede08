import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** What came of one call: its status, or what became of its connection. */
export interface BalancedOutcome {
  readonly records: number;
  /** 0 when there was no answer. */
  readonly status: number;
  readonly tookMs: number;
  /** The answer, or the error of the connection. */
  readonly text: string;
}

export interface CallersOptions {
  readonly callers: number;
  readonly secret: string;
  /** The body of the next call, and how many records it has. */
  readonly nextCall: () => { readonly body: string; readonly records: number };
}

/** A balancer asks this often whether a gateway is ready. */
const healthEveryMs = 250;
/** Between a caller's answer and its next call: a machine that has nothing left starts no process in time. */
const pauseMs = 15;

/**
 * Callers behind a balancer: they keep their connections and call again and again, each time the next gateway in rotation.
 * The balancer asks `/readyz` of each gateway four times a second and takes one that is not ready out of rotation. It
 * tries nothing again: every call that fails is an outcome.
 */
export class BalancedCallers {
  readonly outcomes: BalancedOutcome[] = [];
  private readonly agent = new Agent({ keepAlive: true });
  private readonly rotation = new Set<string>();
  private readonly gateways = new Set<string>();
  private readonly running: Promise<void>[];
  private isOver = false;
  private turn = 0;

  constructor(
    urls: readonly string[],
    private readonly options: CallersOptions,
  ) {
    for (const url of urls) this.add(url);
    this.running = Array.from({ length: options.callers }, () => this.callOnAndOn());
    this.running.push(this.watch());
  }

  /** Tells the balancer of a gateway that is ready. */
  add(url: string): void {
    this.gateways.add(url);
    this.rotation.add(url);
  }

  /** Tells the balancer that a gateway has gone. */
  remove(url: string): void {
    this.gateways.delete(url);
    this.rotation.delete(url);
  }

  /** Resolves when so many more calls have come to an end. */
  async afterCalls(count: number): Promise<void> {
    const until = this.outcomes.length + count;
    while (this.outcomes.length < until) await pause(5);
  }

  /** Lets the calls that are under way come to an end, and makes no more. */
  async stop(): Promise<readonly BalancedOutcome[]> {
    this.isOver = true;
    await Promise.all(this.running);
    this.agent.destroy();
    return this.outcomes;
  }

  private async callOnAndOn(): Promise<void> {
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
    const url = urls[this.turn++ % urls.length];
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
    return new Promise((resolve) => {
      const failed = (error: NodeJS.ErrnoException) =>
        resolve({ status: 0, text: error.code ?? error.message });
      const sent = request(
        url,
        {
          agent: this.agent,
          method: 'POST',
          headers: {
            authorization: `Bearer ${this.options.secret}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (part: string) => {
            text += part;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
          response.on('error', failed);
        },
      );
      sent.on('error', failed);
      sent.end(body);
    });
  }
}
