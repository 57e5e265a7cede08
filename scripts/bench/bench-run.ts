import { setImmediate as nextStep } from 'node:timers/promises';
import { type RunEnd, stoppedAtEnd } from '../servers/run-to-end.js';
import type { BenchOptions } from './bench-options.js';
import { compareWithFloor } from './load/check-replies.js';
import { FloorScorer } from './load/floor-scorer.js';
import { runLoad } from './load/load-run.js';
import type { LoadReport, MeasuredTarget, WindowPlan } from './load/messages.js';
import { RequestBodies } from './load/request-bodies.js';
import { type BenchOutcome, describeMachine, jsonReport, readableReport } from './report/bench-report.js';
import { type BenchRow, windowText } from './report/figures.js';
import { ProgressLines } from './report/progress-lines.js';
import { type Load, mainScenario, mixedSingles, type Scenario, scenarios } from './scenarios.js';
import { startBareService } from './service/bare-service.js';
import { type BenchService, startBenchService, startGenerator, workers } from './service/bench-service.js';

const firstWindowWarmUpMs = 300;

/**
 * Runs the benchmark and prints its report.
 * @throws Error if the service fails or answers with other scores than the floor
 */
export async function runBench(options: BenchOptions, { onEnd, end }: RunEnd): Promise<void> {
  const { only, repeats } = options;
  const chosen = scenarios.filter(({ id, row }) => only.length === 0 || only.includes(id) || only.includes(row));
  const isChosen = (target: Scenario['target']): boolean => chosen.some((scenario) => scenario.target === target);
  const progress = new ProgressLines(repeats * chosen.length);
  progress.say('starting Redis, MongoDB, a gateway and a worker pool');
  const service = await startBenchService(options, onEnd);
  const machine = describeMachine(service.versions, workers);
  const run = new BenchRun({
    ...{ options, chosen, progress, service },
    bare: isChosen('bare') ? await startBareService(options.bundlePath, onEnd) : undefined,
    generator: await stoppedAtEnd(onEnd, startGenerator(service)),
    second: chosen.some((scenario) => scenario.second !== undefined)
      ? await stoppedAtEnd(onEnd, startGenerator(service.second))
      : undefined,
    scorer: await FloorScorer.load(options.bundlePath),
    floorBodies: isChosen('floor') ? await RequestBodies.from(service.source) : undefined,
  });
  const failure = service.ended.then((how) => Promise.reject(new Error(how)));
  const outcome = await Promise.race([run.measureAll(), failure]);
  await end();
  process.stdout.write(options.json ? `${jsonReport(outcome, machine)}\n` : readableReport(outcome, machine));
}

type Generator = Awaited<ReturnType<typeof startGenerator>>;

interface BenchRunDeps {
  readonly options: BenchOptions;
  readonly chosen: readonly Scenario[];
  readonly progress: ProgressLines;
  readonly service: BenchService;
  /** Undefined, as `floorBodies`, if no chosen row needs it. */
  readonly bare: MeasuredTarget | undefined;
  readonly generator: Generator;
  /** Makes the load of the second organisation. Undefined if no chosen row needs it. */
  readonly second: Generator | undefined;
  readonly scorer: FloorScorer;
  readonly floorBodies: RequestBodies | undefined;
}

/**
 * Measures every row once per repeat. A short disturbance of the machine then affects one repeat of several rows
 * instead of every repeat of one row.
 */
class BenchRun {
  private readonly rows = new Map<string, BenchRow>();
  private comparedRows = 0;
  private capacityPerSecond: number | undefined;

  constructor(private readonly deps: BenchRunDeps) {}

  async measureAll(): Promise<BenchOutcome> {
    const { options, chosen } = this.deps;
    await this.warmUp();
    for (let repeat = 0; repeat < options.repeats; repeat += 1)
      for (const scenario of chosen) await this.measure(scenario);
    return { rows: [...this.rows.values()], comparedRows: this.comparedRows };
  }

  /** V8 compiles the hot code, and caches fill. */
  private async warmUp(): Promise<void> {
    const { options, chosen, progress } = this.deps;
    const called = chosen.filter(({ target }) => target !== 'floor');
    const kinds = new Map(called.map((scenario) => [`${scenario.target} ${scenario.shape}`, scenario]));
    if (kinds.size > 0) progress.doing('warming up');
    for (const scenario of kinds.values()) {
      const load = { callers: scenario.shape === 'batch' ? 4 : 32 };
      const times = { windowMs: options.firstWarmUpMs, warmUpMs: firstWindowWarmUpMs };
      await this.window({ ...scenario, leads: 'known' }, load, times);
    }
  }

  private async measure(scenario: Scenario): Promise<void> {
    const { progress, scorer, service } = this.deps;
    const { id, row: name, target } = scenario;
    const load = await this.loadOf(scenario);
    progress.doing(id);
    const report =
      scenario.second === 'beside' ? await this.besideSingles(scenario, load) : await this.window(scenario, load);
    if (target !== 'floor')
      this.comparedRows += await compareWithFloor(report.samples, { scorer, database: service.database });
    if (id === mainScenario.id) this.capacityPerSecond ??= (1000 * report.calls) / report.elapsedMs;
    this.keep(id, { name, load, report });
    progress.finished(windowText(name, load, report));
  }

  private keep(id: string, { name, load, report }: Omit<BenchRow, 'reports'> & { readonly report: LoadReport }): void {
    this.rows.set(id, { name, load, reports: [...(this.rows.get(id)?.reports ?? []), report] });
  }

  /** Measures batches beside singles of the second organisation, which become a row of their own. */
  private async besideSingles(scenario: Scenario, load: Load): Promise<LoadReport> {
    const { options, scorer, service } = this.deps;
    const times = { warmUpMs: options.warmUpMs, windowMs: options.windowMs * 2 };
    const singles: Scenario = { ...scenario, shape: 'single', second: 'alone' };
    const [report, besides] = await Promise.all([
      this.window(scenario, load, times),
      this.window(singles, mixedSingles.load, times),
    ]);
    this.comparedRows += await compareWithFloor(besides.samples, { scorer, database: service.database });
    this.keep(mixedSingles.beside, {
      ...{ name: mixedSingles.beside, load: mixedSingles.load },
      report: { ...besides, othersCpuMs: 0, generatorCpuMs: 0 },
    });
    // Each generator counts the other one among the processes outside the benchmark.
    return {
      ...report,
      generatorCpuMs: report.generatorCpuMs + besides.generatorCpuMs,
      othersCpuMs: Math.max(0, report.othersCpuMs - besides.generatorCpuMs),
    };
  }

  /** A share refers to the first repeat of the main scenario, so that the load is the same in every repeat. */
  private async loadOf({ load }: Scenario): Promise<Load> {
    if (!('shareOfMain' in load)) return load;
    if (this.capacityPerSecond === undefined) {
      const { calls, elapsedMs } = await this.window(mainScenario, mainScenario.load);
      this.capacityPerSecond = (1000 * calls) / elapsedMs;
    }
    return { callsPerSecond: Number((load.shareOfMain * this.capacityPerSecond).toPrecision(2)) };
  }

  /** Windows under an open load are twice as long, because they have few calls. */
  private window(scenario: Scenario, load: Load, times?: Pick<WindowPlan, 'warmUpMs' | 'windowMs'>) {
    const { options, service, bare, generator, second } = this.deps;
    const { shape, leads, target } = scenario;
    const windowMs = options.windowMs * ('callers' in load ? 1 : 2);
    const plan = { shape, leads, load, ...(times ?? { warmUpMs: options.warmUpMs, windowMs }) };
    if (target === 'floor') return this.floorWindow(plan);
    const called = target === 'bare' ? bare : service;
    if (called === undefined) throw new Error('the bare queue was not started');
    if (scenario.second !== 'alone')
      return generator.call({ ...plan, target: { gateway: called.gateway, groups: called.groups } });
    if (second === undefined) throw new Error('the load of the second organisation was not started');
    return second.call({ ...plan, target: { gateway: service.second.gateway, groups: called.groups } });
  }

  /** Scores batches one after the other in this process. */
  private floorWindow(plan: WindowPlan): Promise<LoadReport> {
    const { scorer, floorBodies } = this.deps;
    if (floorBodies === undefined) throw new Error('the bodies of the floor were not made');
    const call = async (request: Buffer) => {
      const body = Buffer.from(await scorer.answer(request.toString('utf8'), Date.now()));
      await nextStep(); // lets the window end
      return { status: 200, head: '', body };
    };
    return runLoad(plan, {
      groups: { floor: [process.pid] },
      bodies: floorBodies.source(plan),
      open: async () => ({ call, close: () => undefined }),
    });
  }
}
