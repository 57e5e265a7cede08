import type { BenchOptions } from './bench-options.js';
import { type BenchProgress, type BenchRow, benchRow, type RowLabel } from './bench-result.js';
import type { BenchService } from './bench-service.js';
import type { FloorScorer } from './floor-scorer.js';
import type { LoadPlan, LoadReport, MeasuredTarget } from './load-messages.js';
import type { MeasuringProcess } from './measuring-process.js';
import { floorRow, type Load, mainScenario, type Scenario, scenarios } from './scenarios.js';
import { checkScores } from './score-check.js';

/** What a run of the benchmark needs. */
export interface BenchRunParts {
  readonly options: BenchOptions;
  readonly service: BenchService;
  /** Undefined where no row of it is measured. */
  readonly bare: MeasuredTarget | undefined;
  readonly generator: MeasuringProcess;
  readonly floor: MeasuringProcess;
  readonly scorer: FloorScorer;
  /** The rows to measure, of those that the service can do. */
  readonly chosen: readonly Scenario[];
  readonly measuresFloor: boolean;
  readonly progress: BenchProgress;
  /** Called around each window of a scenario. */
  readonly aroundWindow: (scenario: Scenario, window: () => Promise<LoadReport>) => Promise<LoadReport>;
}

/** What a run came to. */
export interface BenchOutcome {
  readonly rows: readonly BenchRow[];
  readonly reports: readonly LoadReport[];
  /** Rows of replies that were compared with the floor. */
  readonly comparedRows: number;
}

const floorLabel: RowLabel = { name: floorRow, concurrency: 1, callsPerSecond: undefined };
const shortestWarmUpMs = 300;

/**
 * Measures rows, all of them once, then all of them again: what disturbs the machine for a while then disturbs one repeat
 * of several rows, not every repeat of one.
 */
export class BenchRun {
  private readonly reports = new Map<string, { label: RowLabel; reports: LoadReport[] }>();
  private comparedRows = 0;
  private capacityPerSecond: number | undefined;

  constructor(private readonly parts: BenchRunParts) {}

  /** Windows that are measured in all. */
  static windowCount({
    options,
    chosen,
    measuresFloor,
  }: Pick<BenchRunParts, 'options' | 'chosen' | 'measuresFloor'>) {
    return options.repeats * (chosen.length + (measuresFloor ? 1 : 0));
  }

  async measureAll(): Promise<BenchOutcome> {
    const { options, chosen, measuresFloor } = this.parts;
    await this.warmUp();
    for (let repeat = 0; repeat < options.repeats; repeat += 1) {
      if (measuresFloor) await this.measureFloor();
      for (const scenario of chosen) await this.measure(scenario);
    }
    const measured = [...this.reports.values()];
    return {
      rows: measured.map(({ label, reports }) => benchRow(label, reports)),
      reports: measured.flatMap(({ reports }) => reports),
      comparedRows: this.comparedRows,
    };
  }

  /** Lets V8 compile, the caches fill, and the known leads become known; measures nothing. */
  private async warmUp(): Promise<void> {
    const { options, generator, chosen, progress } = this.parts;
    if (chosen.length === 0) return;
    progress.doing('warming up');
    await generator.introduce();
    const kinds = new Map(chosen.map((scenario) => [`${scenario.target} ${scenario.shape}`, scenario]));
    for (const { target, shape } of kinds.values()) {
      const load: Load = { kind: 'closed', callers: shape === 'batch' ? 4 : 32 };
      const windowMs = options.firstWarmUpMs;
      await generator.run(
        this.plan({ target, shape, leads: 'known' }, { load, windowMs, warmUpMs: shortestWarmUpMs }),
      );
    }
  }

  private async measureFloor(): Promise<void> {
    const { options, floor, progress } = this.parts;
    progress.doing(floorRow);
    const plan = this.plan(
      { target: 'service', shape: 'batch', leads: 'known' },
      { ...options, load: { kind: 'closed', callers: 1 } },
    );
    this.keep(floorRow, floorLabel, await floor.run(plan));
  }

  private async measure(scenario: Scenario): Promise<void> {
    const { aroundWindow, progress, scorer, service } = this.parts;
    const load = await this.loadOf(scenario);
    progress.doing(scenario.id);
    const report = await aroundWindow(scenario, () => this.window(scenario, load));
    this.comparedRows += await checkScores(report.samples, { scorer, database: service.database });
    if (scenario.id === mainScenario) this.capacityPerSecond ??= (1000 * report.calls) / report.elapsedMs;
    const isClosed = load.kind === 'closed';
    const label: RowLabel = {
      name: scenario.row,
      concurrency: isClosed ? load.callers : null,
      callsPerSecond: isClosed ? undefined : load.callsPerSecond,
    };
    this.keep(scenario.id, label, report);
  }

  private window(scenario: Scenario, load: Load): Promise<LoadReport> {
    const { windowMs, warmUpMs } = this.parts.options;
    const { generator } = this.parts;
    return generator.run(
      this.plan(scenario, { load, warmUpMs, windowMs: windowMs * (scenario.windowFactor ?? 1) }),
    );
  }

  /** A share of what another scenario achieved in the first repeat: the same load in every repeat. */
  private async loadOf({ load }: Scenario): Promise<Load> {
    if (!('shareOf' in load)) return load;
    if (this.capacityPerSecond === undefined) {
      const main = scenarios.find(({ id }) => id === load.shareOf);
      if (main === undefined || 'shareOf' in main.load)
        throw new Error(`${load.shareOf} has no load of its own`);
      const report = await this.window(main, main.load);
      this.capacityPerSecond = (1000 * report.calls) / report.elapsedMs;
    }
    return { kind: 'open', callsPerSecond: Number((load.share * this.capacityPerSecond).toPrecision(2)) };
  }

  private plan(
    of: Pick<Scenario, 'target' | 'shape' | 'leads'>,
    { load, warmUpMs, windowMs }: Pick<LoadPlan, 'load' | 'warmUpMs' | 'windowMs'>,
  ): LoadPlan {
    const { shape, leads } = of;
    const { service, bare } = this.parts;
    const target = of.target === 'service' ? service : bare;
    if (target === undefined) throw new Error('the baseline was not started');
    const { gateway, groups } = target;
    return { shape, leads, load, warmUpMs, windowMs, target: { gateway, groups } };
  }

  private keep(id: string, label: RowLabel, report: LoadReport): void {
    const kept = this.reports.get(id) ?? { label, reports: [] };
    kept.reports.push(report);
    this.reports.set(id, kept);
    this.parts.progress.measured(label, report);
  }
}
