import { explainTrees } from '../../worker/drivers/tree-contributions.js';
import { type ExplainModelSize, explainModel, explainRows } from './explain-model.js';
import { type Spread, spreadOf } from './percentile.js';

/** What explaining with one model costs in this process. */
export interface ExplainRow extends ExplainModelSize {
  readonly name: string;
  /** CPU-milliseconds to make the model ready, once for each version. */
  readonly prepareCpuMs: number;
  /** CPU-milliseconds for 1000 records at once. */
  readonly cpuMsPer1000: Spread;
  /** CPU-milliseconds for one record alone. */
  readonly cpuMsOfOne: Spread;
}

/** The models that are measured, by the names of their rows. */
export const explainSizes: Readonly<Record<string, ExplainModelSize>> = {
  'explain-100-trees': { trees: 100, depth: 6 },
  'explain-500-trees': { trees: 500, depth: 6 },
};

const manyRecords = 1_000;
const singles = 200;

/**
 * Times the contributions of a made-up model: many records at once, and one at a time.
 * @param options `repeats`: how often, after one time that is not counted
 */
export async function measureExplain(
  name: string,
  size: ExplainModelSize,
  { repeats }: { readonly repeats: number },
): Promise<ExplainRow> {
  const started = process.cpuUsage();
  const explainer = await explainTrees(explainModel(size));
  const prepareCpuMs = cpuMsSince(started);
  const many = { rows: explainRows(manyRecords), count: manyRecords };
  const one = { rows: explainRows(1), count: 1 };
  const measure = async (work: () => Promise<void>): Promise<Spread> => {
    const measured: number[] = [];
    for (let repeat = 0; repeat <= repeats; repeat += 1) {
      const before = process.cpuUsage();
      await work();
      if (repeat > 0) measured.push(cpuMsSince(before));
    }
    return spreadOf(measured);
  };
  const cpuMsPer1000 = await measure(async () => {
    await explainer.contributions(many);
  });
  const ofSingles = await measure(async () => {
    for (let single = 0; single < singles; single += 1) await explainer.contributions(one);
  });
  const { least, median, greatest } = ofSingles;
  return {
    name,
    ...size,
    prepareCpuMs,
    cpuMsPer1000,
    cpuMsOfOne: { least: least / singles, median: median / singles, greatest: greatest / singles },
  };
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
