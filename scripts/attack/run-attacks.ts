import { setTimeout as pause } from 'node:timers/promises';
import { type OnEnd, stoppedAtEnd } from '../servers/run-to-end.js';
import { attacks } from './attacks/table.js';
import type { Attack } from './caller/attack.js';
import { HostileProcess } from './caller/hostile-process.js';
import { type AttackRow, judge, type Promised, rowOf } from './judge.js';
import { type AttackService, startAttackService } from './measure/attack-service.js';
import { watchOtherWork } from './measure/other-work.js';
import { readStored, workersSettled, worstLoopDelayMs } from './measure/stored.js';
import { type MeasuredCall, Victim } from './measure/victim.js';

export interface AttackOptions {
  /** Names of the attacks to run; empty for all. */
  readonly only: readonly string[];
  /** Length of each attack. */
  readonly seconds: number;
}

export interface AttackHooks {
  readonly onStep: (step: string) => void;
  /** Called before an attack. */
  readonly onBegin: (attack: Attack) => void;
  /** Called after an attack. */
  readonly onRow: (row: AttackRow, problems: readonly Promised[]) => void;
  readonly onEnd: OnEnd;
}

export interface AttackResult {
  readonly seconds: number;
  readonly rows: readonly AttackRow[];
  /** Broken promises. */
  readonly problems: readonly Promised[];
  /** Times beyond a promise while other work used the machine. They prove nothing about the service. */
  readonly not_judged: readonly Promised[];
}

/** Calls without an attack before the first one, s. V8 compiles the hot code in this time. */
const firstQuietSeconds = 5;
/** Each attack is compared with this many quiet stretches: those before it and the one after it. */
const comparedStretches = 4;
/** A quiet stretch is this share of an attack. */
const quietShare = 0.5;
/** A worker that hung last is killed and counted within this time. */
const lateDeathMs = 6_000;

/** @throws Error if the service cannot be started or a part of it ends */
export async function runAttacks(options: AttackOptions, hooks: AttackHooks): Promise<AttackResult> {
  const { seconds, only } = options;
  hooks.onStep('starting Redis, MongoDB, a gateway and two workers');
  const service = await startAttackService(hooks.onEnd);
  const hostile = await stoppedAtEnd(hooks.onEnd, Promise.resolve(HostileProcess.start()));
  const victim = new Victim(service.url, service.victim);
  hooks.onEnd(() => victim.stop());
  await victim.start();
  const run = new AttackRun(service, hostile, victim, seconds);
  await pause(1_000 * Math.min(firstQuietSeconds, 2 * seconds));
  await run.quietStretch();

  const rows: AttackRow[] = [];
  const problems: Promised[] = [];
  const notJudged: Promised[] = [];
  for (const attack of attacks.filter(({ name }) => only.length === 0 || only.includes(name))) {
    hooks.onBegin(attack);
    const row = await run.attack(attack);
    const found = judge(row);
    rows.push(row);
    problems.push(...found.problems);
    notJudged.push(...found.notJudged);
    hooks.onRow(row, found.problems);
    if (service.cluster.unexpectedDeaths.length > 0)
      throw new Error(`the service ended during ${attack.name}: ${service.cluster.unexpectedDeaths.join(', ')}`);
  }
  problems.push(...(await run.lateProblems()));
  return { seconds, rows, problems, not_judged: notJudged };
}

class AttackRun {
  private readonly quiet: (readonly MeasuredCall[])[] = [];
  private readonly spans: { readonly fromMs: number; readonly toMs: number }[] = [];
  private deaths = 0;

  constructor(
    private readonly service: AttackService,
    private readonly hostile: HostileProcess,
    private readonly victim: Victim,
    private readonly seconds: number,
  ) {}

  /** Measures the victim's calls without an attack. */
  async quietStretch(): Promise<void> {
    const fromMs = performance.now();
    await pause(1_000 * quietShare * this.seconds);
    const toMs = performance.now();
    await this.victim.settled();
    this.quiet.push(callsBetween(this.victim.calls, fromMs, toMs));
  }

  async attack({ name, does }: Attack): Promise<AttackRow> {
    const { service, hostile, victim, seconds } = this;
    const organisation = await service.createAttacker(name);
    const before = await readStored(service, organisation.id);
    await worstLoopDelayMs(service);
    const otherWork = watchOtherWork(service, [hostile.pid]);
    const fromMs = performance.now();
    const report = await hostile.run({ name, seconds, target: { url: service.url, organisation } });
    await workersSettled(service);
    const toMs = performance.now();
    const othersShare = otherWork();
    await victim.settled();
    const loopDelayMs = await worstLoopDelayMs(service);
    const after = await readStored(service, organisation.id);
    this.deaths = after.workerDeaths;
    this.spans.push({ fromMs, toMs });
    await this.quietStretch();
    return rowOf({
      ...{ attack: { name, does }, report, before, after, loopDelayMs, othersShare },
      calls: callsBetween(victim.calls, fromMs, toMs),
      probes: callsBetween(victim.probes, fromMs, toMs),
      quiet: this.quiet.slice(-comparedStretches).flat(),
    });
  }

  /** Failures of the victim between the attacks, and workers that died after the last one. */
  async lateProblems(): Promise<Promised[]> {
    await pause(lateDeathMs);
    await this.victim.settled();
    const died = (await readStored(this.service, this.service.victim.id)).workerDeaths - this.deaths;
    const isBetween = ({ sentMs }: MeasuredCall) =>
      !this.spans.some(({ fromMs, toMs }) => sentMs >= fromMs && sentMs < toMs);
    const { calls, probes } = this.victim;
    const failures = [...calls, ...probes].filter(isBetween).flatMap(({ failure }) => failure ?? []);
    const attack = 'between the attacks';
    return [
      ...(died > 0 ? [{ attack, promise: 'workers' as const, text: `${died} worker processes died` }] : []),
      ...failures.map((failure) => ({ attack, promise: 'victim' as const, text: `a call failed: ${failure}` })),
    ];
  }
}

const callsBetween = (calls: readonly MeasuredCall[], fromMs: number, toMs: number): readonly MeasuredCall[] =>
  calls.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs);
