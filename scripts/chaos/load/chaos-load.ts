import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../../leads/seeded-random.js';
import { openLoop } from '../../load/loops.js';
import type { ServiceSlot } from '../../servers/slots/service-slot.js';
import type { CallEvent } from '../check/history.js';
import type { HistoryLog } from '../check/history-log.js';
import type { ChaosOrganisation } from './organisations.js';
import { type Lead, type PlannedCall, planCall, planHotCall } from './plan-call.js';
import { type SeenAnswer, sendPlanned } from './send-planned.js';

export interface ChaosLoadOptions {
  readonly random: SeededRandom;
  readonly organisations: readonly ChaosOrganisation[];
  readonly leads: readonly Lead[];
  readonly gateways: readonly ServiceSlot[];
  readonly history: HistoryLog;
  readonly callsPerSecond: number;
  /** The organisation whose one model has at times more work than one partition takes, with its own random source. */
  readonly hot?: { readonly organisation: ChaosOrganisation; readonly random: SeededRandom };
}

/** The calls for a hot model come in bursts, so that partitions beside its home are chosen and given up. */
const burst = { calls: 6, meanGapMs: 2_000 };

const refused: SeenAnswer = { outcome: 'refused', isReplay: false, problem: 'no gateway' };

/**
 * An open load over all gateways by round robin. Notes the outcome of each call. A caller with an Idempotency-Key
 * retries up to three times until a final answer.
 */
export class ChaosLoad {
  private isOver = false;
  private sending: Promise<void> | undefined;
  private lastGateway = 0;

  constructor(private readonly options: ChaosLoadOptions) {}

  start(): void {
    this.sending ??= this.send();
  }

  /** Ends the load and waits for the calls in flight and their retries. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.sending;
  }

  private async send(): Promise<void> {
    const { random, callsPerSecond, hot } = this.options;
    const gapMs = (): number => random.exponential(1_000 / callsPerSecond);
    const isOver = () => this.isOver;
    await Promise.all([
      openLoop({ gapMs, isOver }, () => this.make(planCall(random, this.options))),
      hot !== undefined && this.sendBursts(hot),
    ]);
  }

  private async sendBursts({ organisation, random }: NonNullable<ChaosLoadOptions['hot']>): Promise<void> {
    const { leads } = this.options;
    const gapMs = (): number => random.exponential(burst.meanGapMs);
    await openLoop({ gapMs, isOver: () => this.isOver }, async () => {
      const calls = Array.from({ length: burst.calls }, () => planHotCall(random, { organisation, leads }));
      await Promise.all(calls.map((call) => this.make(call)));
    });
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
    const answer = url === undefined ? refused : await sendPlanned(url, call, headers);
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

  /** Skips gateways that do not run, as a load balancer does. */
  private nextGateway(): number {
    const { gateways } = this.options;
    this.lastGateway += 1;
    const inTurn = gateways.map((_, index) => (this.lastGateway + index) % gateways.length);
    return inTurn.find((gateway) => gateways[gateway]?.url !== undefined) ?? this.lastGateway % gateways.length;
  }
}

/** A retry would not help. */
const isFinal = ({ outcome }: SeenAnswer): boolean => outcome === 200 || (typeof outcome === 'number' && outcome < 500);
