import type { BenchOptions } from './bench-options.js';
import { compareWithFloor } from './load/check-replies.js';
import type { FloorScorer } from './load/floor-scorer.js';
import type { MeasuringProcess } from './load/measuring-process.js';
import type { LoadPlan, LoadReport, MeasuredTarget } from './load/messages.js';
import type { BenchOutcome } from './report/bench-report.js';
import { type BenchProgress, benchRow, type RowLabel } from './report/rows.js';
import { type Load, mainScenario, type Scenario, scenarios } from './scenarios.js';
import type { BenchService } from './service/bench-service.js';

export interface BenchRunDeps {
  readonly options: BenchOptions;
  readonly service: BenchService;
  /** Undefined if no chosen row needs it. */
  readonly bare: MeasuredTarget | undefined;
  readonly generator: MeasuringProcess;
  readonly floor: MeasuringProcess;
  readonly scorer: FloorScorer;
  readonly chosen: readonly Scenario[];
  readonly progress: BenchProgress;
}

const firstWindowWarmUpMs = 300;

/**
 * Measures every row once per repeat. A short disturbance of the machine then affects one repeat of several rows
 * instead of every repeat of one row.
 */
export class BenchRun {
  private readonly measured = new Map<string, { readonly label: RowLabel; readonly reports: LoadReport[] }>();
  private comparedRows = 0;
  private capacityPerSecond: number | undefined;

  constructor(private readonly deps: BenchRunDeps) {}

  async measureAll(): Promise<BenchOutcome> {
    const { options, chosen } = this.deps;
    await this.warmUp();
    for (let repeat = 0; repeat < options.repeats; repeat += 1)
      for (const scenario of chosen) await this.measure(scenario);
    const measured = [...this.measured.values()];
    return {
      rows: measured.map(({ label, reports }) => benchRow(label, reports)),
      reports: measured.flatMap(({ reports }) => reports),
      comparedRows: this.comparedRows,
    };
  }

  /** V8 compiles the hot code, and caches fill. */
  private async warmUp(): Promise<void> {
    const { options, generator, chosen, progress } = this.deps;
    const called = chosen.filter(({ target }) => target !== 'floor');
    if (called.length === 0) return;
    progress.doing('warming up');
    const kinds = new Map(called.map((scenario) => [`${scenario.target} ${scenario.shape}`, scenario]));
    for (const scenario of kinds.values()) {
      const load: Load = { kind: 'closed', callers: scenario.shape === 'batch' ? 4 : 32 };
      const times = { windowMs: options.firstWarmUpMs, warmUpMs: firstWindowWarmUpMs };
      await generator.run(this.plan({ ...scenario, leads: 'known' }, load, times));
    }
  }

  private async measure(scenario: Scenario): Promise<void> {
    const { progress, scorer, service } = this.deps;
    const { id, row } = scenario;
    const load = await this.loadOf(scenario);
    progress.doing(id);
    const report = await this.window(scenario, load);
    this.comparedRows += await compareWithFloor(report.samples, { scorer, database: service.database });
    if (id === mainScenario) this.capacityPerSecond ??= (1000 * report.calls) / report.elapsedMs;
    const label: RowLabel = {
      name: row,
      concurrency: load.kind === 'closed' ? load.callers : null,
      callsPerSecond: load.kind === 'closed' ? undefined : load.callsPerSecond,
    };
    const { reports } = this.measured.get(id) ?? { reports: [] };
    this.measured.set(id, { label, reports: [...reports, report] });
    progress.measured(label, report);
  }

  private window(scenario: Scenario, load: Load): Promise<LoadReport> {
    const { options, generator, floor } = this.deps;
    const { warmUpMs } = options;
    const windowMs = options.windowMs * (scenario.windowFactor ?? 1);
    const measuring = scenario.target === 'floor' ? floor : generator;
    return measuring.run(this.plan(scenario, load, { warmUpMs, windowMs }));
  }

  /** A share refers to the first repeat of its scenario, so that the load is the same in every repeat. */
  private async loadOf({ load }: Scenario): Promise<Load> {
    if (!('shareOf' in load)) return load;
    if (this.capacityPerSecond === undefined) {
      const main = scenarios.find(({ id }) => id === load.shareOf);
      if (main === undefined || 'shareOf' in main.load) throw new Error(`${load.shareOf} has no load of its own`);
      const report = await this.window(main, main.load);
      this.capacityPerSecond = (1000 * report.calls) / report.elapsedMs;
    }
    return { kind: 'open', callsPerSecond: Number((load.share * this.capacityPerSecond).toPrecision(2)) };
  }

  private plan(
    { target, shape, leads }: Pick<Scenario, 'target' | 'shape' | 'leads'>,
    load: Load,
    times: Pick<LoadPlan, 'warmUpMs' | 'windowMs'>,
  ): LoadPlan {
    const called = target === 'bare' ? this.deps.bare : this.deps.service;
    if (called === undefined) throw new Error('the bare queue was not started');
    const { gateway, groups } = called;
    return { shape, leads, load, ...times, target: { gateway, groups } };
  }
}
