import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../demo/seeded-random.js';
import type { ChaosOrganisation } from './chaos-organisations.js';
import type { GatewaySlot } from './gateway-slot.js';
import type { CallEvent } from './history.js';
import type { HistoryLog } from './history-log.js';
import { type Lead, type PlannedCall, planCall } from './plan-call.js';
import { type SeenAnswer, sendCall } from './send-call.js';

export interface ChaosLoadOptions {
  readonly random: SeededRandom;
  readonly organisations: readonly ChaosOrganisation[];
  readonly leads: readonly Lead[];
  readonly gateways: readonly GatewaySlot[];
  readonly history: HistoryLog;
  readonly callsPerSecond: number;
}

const refused: SeenAnswer = { outcome: 'refused', isReplay: false, problem: 'no gateway' };

/**
 * Makes calls at times that do not depend on how those before were answered, through the gateways in turn, and notes what
 * came of each. A caller with an Idempotency-Key tries again until the call is answered for good, three times at most.
 */
export class ChaosLoad {
  private readonly callers = new Set<Promise<void>>();
  private isOver = false;
  private sending: Promise<void> | undefined;
  private turn = 0;

  constructor(private readonly options: ChaosLoadOptions) {}

  start(): void {
    this.sending ??= this.send();
  }

  /** Makes no more new calls, and waits until those that were made, and are made again, have ended. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.sending;
    await Promise.all(this.callers);
  }

  private async send(): Promise<void> {
    const { random, callsPerSecond } = this.options;
    for (let dueMs = performance.now(); !this.isOver; dueMs += random.exponential(1_000 / callsPerSecond)) {
      const waitMs = dueMs - performance.now();
      if (waitMs > 1) await pause(waitMs);
      const caller = this.make(planCall(random, this.options)).finally(() => this.callers.delete(caller));
      this.callers.add(caller);
    }
  }

  private async make(call: PlannedCall): Promise<void> {
    const group = randomUUID();
    if (call.hasTwin) await Promise.all([this.attempt(call, group), this.attempt(call, group)]);
    for (const retryAfterMs of [0, ...call.retryAfterMs]) {
      await pause(retryAfterMs);
      if (isFinal(await this.attempt(call, group))) break;
    }
    if (call.isRepeated) await this.attempt(call, group);
  }

  private async attempt(call: PlannedCall, group: string): Promise<SeenAnswer> {
    const { history } = this.options;
    const gateway = this.nextGateway();
    const url = this.options.gateways[gateway]?.url;
    const requestId = randomUUID();
    const headers = {
      'x-request-id': requestId,
      ...(call.isIdempotent ? { 'idempotency-key': group } : {}),
    };
    const sentMs = performance.now();
    const answer = url === undefined ? refused : await sendCall(url, call, headers);
    const event: CallEvent = {
      kind: 'call',
      requestId,
      group,
      isIdempotent: call.isIdempotent,
      organisation: call.organisation.id,
      bucket: call.bucket,
      route: call.route,
      records: call.leads.length,
      gateway,
      sentMs: history.at(sentMs),
      tookMs: performance.now() - sentMs,
      ...answer,
    };
    history.add(event);
    return answer;
  }

  /** The next one in turn that runs, as a balancer chooses it; the next one where none does. */
  private nextGateway(): number {
    const { gateways } = this.options;
    this.turn += 1;
    const inTurn = gateways.map((_, index) => (this.turn + index) % gateways.length);
    return inTurn.find((gateway) => gateways[gateway]?.url !== undefined) ?? this.turn % gateways.length;
  }
}

/** Whether trying again is of no use. */
const isFinal = ({ outcome }: SeenAnswer): boolean =>
  outcome === 200 || (typeof outcome === 'number' && outcome < 500);
