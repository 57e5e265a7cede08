import type { TreeModel } from '../../../worker/drivers/trees/prepared-trees.js';
import { explainTrees } from '../../../worker/drivers/trees/tree-contributions.js';
import { atMostCode, type LeafWeight, leafCode } from '../../../worker/drivers/trees/tree-ensemble.js';
import { seededRandom } from '../../leads/seeded-random.js';
import { type Spread, spreadOf } from '../report/percentile.js';
import { type Columns, type ReportSection, reportTable, type SectionOptions, withRange } from '../report/tables.js';

/* CPU time of explaining with made-up models in this process. */

const depth = 6;
const treesOf: Readonly<Record<string, number>> = { 'explain-100-trees': 100, 'explain-500-trees': 500 };
export const explainRowNames: readonly string[] = Object.keys(treesOf);

/** Columns of a CRM record: a few numbers, the others from one-hot fields. */
const [numbers, oneHotFields, columnsPerField] = [8, 8, 9];
const width = numbers + oneHotFields * columnsPerField;
const trainingRows = 50_000;

type ExplainRow = Awaited<ReturnType<typeof measure>>;

const columns: Columns<ExplainRow> = [
  ['CPU-milliseconds', ({ name }) => name],
  ['prepare', (row) => row.prepare_cpu_ms.toFixed(0)],
  ['1000 records', (row) => withRange(row.cpu_ms_per_1000, (ms) => ms.toFixed(0))],
  ['one record', (row) => withRange(row.cpu_ms_of_one, (ms) => ms.toFixed(2))],
];

/** @param names some of `explainRowNames` */
export async function explainSection(
  names: readonly string[],
  { repeats }: Pick<SectionOptions, 'repeats'>,
): Promise<ReportSection> {
  const rows: ExplainRow[] = [];
  for (const name of names) rows.push(await measure(name, repeats));
  return { document: rows, text: reportTable(columns, rows) };
}

async function measure(name: string, repeats: number) {
  const trees = treesOf[name] ?? 0;
  const started = process.cpuUsage();
  const explainer = explainTrees(madeUpModel(trees));
  const prepareCpuMs = cpuMsSince(started);
  const timed = async (count: number, calls: number): Promise<Spread> => {
    const input = { rows: madeUpRows(count), count };
    const measured: number[] = [];
    for (let repeat = 0; repeat <= repeats; repeat += 1)
      measured.push(await callCpuMs(calls, () => explainer.contributions(input)));
    return spreadOf(measured.slice(1)); // the first repeat warms up
  };
  const [cpuMsPer1000, cpuMsOfOne] = [await timed(1_000, 1), await timed(1, 200)];
  const cpu = { prepare_cpu_ms: prepareCpuMs, cpu_ms_per_1000: cpuMsPer1000, cpu_ms_of_one: cpuMsOfOne };
  return { name, trees, depth, ...cpu };
}

/** CPU time of this process for one of several calls, ms. */
export async function callCpuMs(calls: number, call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let done = 0; done < calls; done += 1) await call();
  return cpuMsSince(before) / calls;
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** A model of full trees as boosting grows them: splits on any column, uneven shares, small leaves. Deterministic. */
function madeUpModel(trees: number): TreeModel {
  const random = seededRandom(trees + depth);
  const nodes: { isLeaf: boolean; cover: number; input: number; threshold: number; yes: number; no: number }[] = [];
  const leafWeights: LeafWeight[] = [];
  const grow = (levels: number, cover: number): number => {
    const isLeaf = levels === 0;
    const isNumber = random.chance(0.6);
    const input = isNumber ? random.integer(0, numbers - 1) : random.integer(numbers, width - 1);
    const threshold = isNumber ? Math.fround(random.uniform()) : 0.5;
    const node = { isLeaf, cover, input, threshold, yes: -1, no: -1 };
    const index = nodes.push(node) - 1;
    if (isLeaf) {
      leafWeights.push({ node: index, target: 0, weight: (random.uniform() - 0.5) / 10 });
      return index;
    }
    const yesCover = Math.round(cover * (0.1 + 0.8 * random.uniform()));
    node.yes = grow(levels - 1, yesCover);
    node.no = grow(levels - 1, cover - yesCover);
    return index;
  };
  const roots = Array.from({ length: trees }, () => grow(depth, trainingRows));
  const ensemble = {
    inputs: Array.from({ length: width }, (_, column) => ({ column, weight: 1, offset: 0 })),
    firstCover: 0,
    nodeCount: nodes.length,
    roots,
    decision: Uint8Array.from(nodes, ({ isLeaf }) => (isLeaf ? leafCode : atMostCode)),
    input: Int32Array.from(nodes, ({ input }) => input),
    threshold: Float64Array.from(nodes, ({ threshold }) => threshold),
    members: new Map(),
    whenTrue: Int32Array.from(nodes, ({ yes }) => yes),
    whenFalse: Int32Array.from(nodes, ({ no }) => no),
    missingIsTrue: Uint8Array.from(nodes, (_, index) => index % 2),
    hitRates: undefined,
    leafWeights,
  };
  return {
    sum: { constant: -1.5, weights: new Map(), trees: [{ ensemble, target: 0, factor: 1 }] },
    isProbability: false,
    covers: Float32Array.from(nodes, ({ cover }) => cover),
    width,
    fields: numbers + oneHotFields,
    fieldOfColumn: Int32Array.from({ length: width }, (_, column) =>
      column < numbers ? column : numbers + Math.floor((column - numbers) / columnsPerField),
    ),
  };
}

/** Input rows for such a model, with one number in twelve missing. */
function madeUpRows(count: number): Float32Array {
  const random = seededRandom(count);
  const rows = new Float32Array(count * width);
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < numbers; column += 1)
      rows[row * width + column] = random.chance(1 / 12) ? Number.NaN : random.uniform();
    for (let field = 0; field < oneHotFields; field += 1)
      rows[row * width + numbers + field * columnsPerField + random.integer(0, columnsPerField - 1)] = 1;
  }
  return rows;
}
