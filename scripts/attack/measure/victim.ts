import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { generateLeads } from '../../leads/lead-generator.js';
import type { LoadOrganisation } from '../../load/load-organisation.js';
import { openLoop } from '../../load/loops.js';
import { sendCall } from '../../load/send-call.js';

/** One call of the victim, or one probe of `/healthz`. */
export interface MeasuredCall {
  /** By `performance.now()`. */
  readonly sentMs: number;
  readonly tookMs: number;
  /** Why it failed; undefined if it did not. */
  readonly failure: string | undefined;
}

const callsPerSecond = 10;
/** A victim has recovered when this many of its last calls were each answered within a second. */
const recoveredCalls = 5;
const recoveredMs = 1_000;
/** A hung worker is killed and replaced within this time, and a gateway has done the work that waits. */
const maxRecoveryMs = 20_000;
const probeEveryMs = 100;
const knownLeads = 200;
/** Beyond every deadline. */
const answerLimitMs = 15_000;

/**
 * An organisation whose CRM sends ten calls a second at fixed times, singles and webhooks of known leads, and a
 * balancer that probes `/healthz`. Every call must be answered with 200 and the lead's score.
 */
export class Victim {
  readonly calls: MeasuredCall[] = [];
  readonly probes: MeasuredCall[] = [];
  /** Uses all connections in turn: one that was idle for a minute may be closed while a call is sent on it. */
  private readonly agent = new Agent({ keepAlive: true, scheduling: 'fifo' });
  private readonly bodies: readonly { readonly path: string; readonly body: string; readonly crmId: string }[];
  /** A batch of all leads. */
  private readonly known: string;
  private readonly inFlight = new Set<Promise<void>>();
  private isOver = false;
  private running: readonly Promise<void>[] = [];

  constructor(
    private readonly url: string,
    private readonly organisation: LoadOrganisation,
  ) {
    const leads = generateLeads({ seed: 7, count: knownLeads, now: new Date() });
    this.bodies = leads.map(({ record }, index) => {
      const { crm_id: crmId, ...fields } = record;
      const ofWebhook = { model_id: this.modelId, crm_id: crmId, record: index % 4 === 1 ? {} : fields };
      return index % 2 === 0
        ? { path: '/v1/score', body: this.batch([record]), crmId: String(crmId) }
        : { path: '/v1/webhooks/score', body: JSON.stringify(ofWebhook), crmId: String(crmId) };
    });
    this.known = this.batch(leads.map(({ record }) => record));
  }

  /** Scores every lead once, then begins to call. */
  async start(): Promise<void> {
    const { status } = await this.send('/v1/score', this.known);
    if (status !== 200) throw new Error(`the victim's leads could not be scored: ${status}`);
    this.running = [this.callAtRate(), this.probe()];
  }

  /** Ends the load and waits for the calls in flight. */
  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.running);
    await this.settled();
    this.agent.destroy();
  }

  /**
   * Waits until calls succeed quickly again, so that the harm of one attack is not attributed to the next.
   * @returns false if they do not in time
   */
  async recovered(): Promise<boolean> {
    const endMs = performance.now() + maxRecoveryMs;
    await this.settled();
    const isHarmed = ({ failure, tookMs }: MeasuredCall) => failure !== undefined || tookMs > recoveredMs;
    while (this.calls.slice(-recoveredCalls).some(isHarmed)) {
      if (performance.now() > endMs) return false;
      await pause(1_000 / callsPerSecond);
    }
    return true;
  }

  /** Waits until the calls that are in flight now are answered. */
  async settled(): Promise<void> {
    await Promise.all(this.inFlight);
  }

  private get modelId(): string {
    return this.organisation.modelIds[0] ?? '';
  }

  private batch(records: readonly unknown[]): string {
    return JSON.stringify({ model_id: this.modelId, records });
  }

  private async callAtRate(): Promise<void> {
    let index = 0;
    await openLoop({ gapMs: () => 1_000 / callsPerSecond, isOver: () => this.isOver }, () => {
      const call = this.measured(this.calls, () => this.score(index++)).finally(() => this.inFlight.delete(call));
      this.inFlight.add(call);
      return call;
    });
  }

  private async probe(): Promise<void> {
    while (!this.isOver) {
      await this.measured(this.probes, async () => {
        const { status } = await this.send('/healthz', undefined);
        return status === 200 ? undefined : String(status);
      });
      await pause(probeEveryMs);
    }
  }

  /** Notes a call. `act` gives the failure. */
  private async measured(calls: MeasuredCall[], act: () => Promise<string | undefined>): Promise<void> {
    const sentMs = performance.now();
    const failure = await act().catch((error: Error) => error.message);
    calls.push({ sentMs, tookMs: performance.now() - sentMs, failure });
  }

  private async score(index: number): Promise<string | undefined> {
    const { path, body, crmId } = this.bodies[index % this.bodies.length] ?? { path: '', body: '', crmId: '' };
    const { status, text } = await this.send(path, body);
    if (status !== 200) return `${status} ${text.slice(0, 200)}`;
    const reply = JSON.parse(text) as { scores?: readonly Record<string, unknown>[] } & Record<string, unknown>;
    const row = reply.scores?.[0] ?? reply;
    const isRight = Number.isInteger(row.score) && row.enriched === true && row.crm_id === crmId;
    return isRight ? undefined : `a wrong reply: ${text.slice(0, 200)}`;
  }

  private async send(path: string, body: string | undefined): Promise<{ status: number; text: string }> {
    const secret = body === undefined ? undefined : this.organisation.secrets[0];
    const answer = await sendCall(`${this.url}${path}`, { secret, body, agent: this.agent, limitMs: answerLimitMs });
    return { status: answer.status, text: answer.body.toString() };
  }
}
