import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { modelStrikesKey } from '../../shared/redis/keys.js';
import { ForkedFunction } from '../load/forked-function.js';
import { type OnEnd, stoppedAtEnd } from '../servers/run-to-end.js';
import { attacks } from './attacks/table.js';
import type { Attack } from './caller/attack.js';
import type { AttackOrder, AttackReport } from './caller/messages.js';
import { type AttackRow, type BrokenPromise, failureTexts, rowOf } from './judge.js';
import { type AttackService, startAttackService } from './measure/attack-service.js';
import { watchOtherWork } from './measure/other-work.js';
import { readGateway, readStored, workersSettled } from './measure/stored.js';
import { type MeasuredCall, Victim } from './measure/victim.js';

/** Times of a run. */
export interface AttackTimes {
  /** Length of each attack. */
  readonly seconds: number;
  /** Length of each quiet stretch between two attacks. */
  readonly quietSeconds: number;
}

export interface AttackOptions extends AttackTimes {
  /** Names of the attacks to run; empty for all. */
  readonly only: readonly string[];
}

/** Calls before the first quiet stretch. V8 compiles the hot code in this time. */
const maxWarmUpMs = 5_000;
/** Each attack is compared with this many quiet stretches: those before it and the one after it. */
const comparedStretches = 4;
/** Hostile callers use machines of their own, so their work must not take the processors of the service. */
const lowPriority = 10;
/** A worker that hung last is killed and counted within this time. */
const lateDeathMs = 6_000;

/** The attacks with these names, or all without names. */
export const attacksNamed = (only: readonly string[]): readonly Attack[] =>
  attacks.filter(({ name }) => only.length === 0 || only.includes(name));

/** The service, the victim that calls it all the time, and the process of the hostile callers. */
export class AttackRun {
  private readonly quiet: (readonly MeasuredCall[])[] = [];
  private readonly spans: { readonly fromMs: number; readonly toMs: number }[] = [];
  private deaths = 0;

  private constructor(
    private readonly service: AttackService,
    private readonly hostile: ForkedFunction<AttackOrder, AttackReport>,
    private readonly victim: Victim,
    private readonly times: AttackTimes,
  ) {}

  /** @throws Error if the service cannot be started */
  static async start(times: AttackTimes, onEnd: OnEnd): Promise<AttackRun> {
    const service = await startAttackService(onEnd);
    const starting = ForkedFunction.start<AttackOrder, AttackReport>('dist/scripts/attack/caller/main.js', undefined);
    const hostile = await stoppedAtEnd(onEnd, starting);
    setPriority(hostile.pid, lowPriority);
    const victim = new Victim(service.url, service.victim);
    onEnd(() => victim.stop());
    await victim.start();
    const run = new AttackRun(service, hostile, victim, times);
    await pause(Math.min(maxWarmUpMs, 2_000 * times.seconds));
    await run.quietStretch();
    return run;
  }

  /**
   * Runs one attack as a new trial organisation, then a quiet stretch.
   * @throws Error if a gateway or the pool ended
   */
  async attack({ name, does }: Attack): Promise<AttackRow> {
    const { service, hostile, victim } = this;
    const { seconds } = this.times;
    const organisation = await service.createAttacker(name);
    const before = await readStored(service, organisation.id);
    const gatewayBefore = await readGateway(service);
    const otherWork = watchOtherWork(service, [hostile.pid]);
    const fromMs = performance.now();
    const report = await hostile.call({ name, seconds, target: { url: service.url, organisation } });
    await workersSettled(service);
    const othersShare = otherWork();
    if (!(await victim.recovered())) await this.liftQuarantine();
    const toMs = performance.now();
    const { unexpectedDeaths } = service.cluster;
    if (unexpectedDeaths.length > 0)
      throw new Error(`the service ended during ${name}: ${unexpectedDeaths.join(', ')}`);
    const gateway = { before: gatewayBefore, after: await readGateway(service) };
    const after = await readStored(service, organisation.id);
    this.deaths = after.workerDeaths;
    this.spans.push({ fromMs, toMs });
    await this.quietStretch();
    return rowOf({
      ...{ attack: { name, does }, report, before, after, gateway, othersShare },
      calls: callsBetween(victim.calls, { fromMs, toMs }),
      probes: callsBetween(victim.probes, { fromMs, toMs }),
      quiet: this.quiet.slice(-comparedStretches).flat(),
    });
  }

  /** Failures of the victim between the attacks, and workers that died after the last one. */
  async lateProblems(): Promise<readonly BrokenPromise[]> {
    await pause(lateDeathMs);
    await this.victim.settled();
    const died = (await readStored(this.service, this.service.victim.id)).workerDeaths - this.deaths;
    const { calls, probes } = this.victim;
    const isBetween = (call: MeasuredCall) => this.spans.every((span) => callsBetween([call], span).length === 0);
    const failures = [...calls, ...probes].filter(isBetween).flatMap(({ failure }) => failure ?? []);
    const attack = 'between the attacks';
    return [
      ...(died > 0 ? [{ attack, promise: 'workers' as const, text: `${died} worker processes died` }] : []),
      ...failureTexts(failures).map((text) => ({ attack, promise: 'victim' as const, text })),
    ];
  }

  /** A quarantine of the victim's model lasts up to an hour. The next attack must find a service that works. */
  private async liftQuarantine(): Promise<void> {
    await this.service.redis.del(modelStrikesKey);
    await this.victim.recovered();
  }

  /** Measures the victim's calls without an attack. */
  private async quietStretch(): Promise<void> {
    const fromMs = performance.now();
    await pause(1_000 * this.times.quietSeconds);
    const toMs = performance.now();
    await this.victim.settled();
    this.quiet.push(callsBetween(this.victim.calls, { fromMs, toMs }));
  }
}

const callsBetween = (
  calls: readonly MeasuredCall[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly MeasuredCall[] => calls.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs);
