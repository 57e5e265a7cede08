import { quantile } from 'd3-array';

/** Figures of a window or a job, with their names in tables and their members in `--json`. */
export const figureNames = {
  all: 'CPU-ms per 1000 records',
  gateway: '  gateway',
  workers: '  workers',
  redis: '  redis',
  mongod: '  mongod',
  runner: '  runner',
  console: '  console',
  records_per_s: 'records/s',
  p50_ms: 'p50 ms',
  p99_ms: 'p99 ms',
  rss_mb: 'memory MB',
} as const;
export type FigureName = keyof typeof figureNames;

/** A job has no latency of calls. */
export type Sample = Readonly<Partial<Record<FigureName, number>>>;

/** The other commit, and this working tree. */
export type Side = 'before' | 'now';

/** Both sides within one round. */
export type Pair = Readonly<Record<Side, Sample>>;

/** The sides in the order in which a round measures them: every other round reverses it. */
export const orderIn = (round: number): readonly [Side, Side] =>
  round % 2 === 0 ? ['before', 'now'] : ['now', 'before'];

/** Median and quartiles. Between two values they are interpolated. */
export interface Quartiles {
  readonly lower: number;
  readonly median: number;
  readonly upper: number;
}

/**
 * @param values in any order, at least one
 * @throws RangeError for an empty list
 */
export function quartilesOf(values: readonly number[]): Quartiles {
  const at = (share: number): number => {
    const value = quantile(values, share);
    if (value === undefined) throw new RangeError('an empty list has no quartiles');
    return value;
  };
  return { lower: at(0.25), median: at(0.5), upper: at(0.75) };
}

/** One figure in all pairs of a row. */
export interface PairedFigure {
  /** Medians of each side. Their quotient is not the median of the ratios. */
  readonly before: number;
  readonly now: number;
  /** `now` divided by `before` within each pair. */
  readonly ratio: Quartiles;
  /** Pairs that have the figure on both sides. */
  readonly pairs: number;
  /** Pairs in which `now` is higher, and in which it is lower. */
  readonly higher: number;
  readonly lower: number;
}

/**
 * Compares a figure within each pair. A ratio of medians would also have the drift of the machine between rounds.
 * @returns undefined when no pair has it on both sides, above 0
 */
export function pairedFigure(pairs: readonly Pair[], figure: FigureName): PairedFigure | undefined {
  const values = pairs.flatMap(({ before, now }) => {
    const [old, current] = [before[figure] ?? 0, now[figure] ?? 0];
    return old > 0 && current > 0 ? [{ old, current }] : [];
  });
  if (values.length === 0) return undefined;
  const ratios = values.map(({ old, current }) => current / old);
  return {
    before: quartilesOf(values.map(({ old }) => old)).median,
    now: quartilesOf(values.map(({ current }) => current)).median,
    ratio: quartilesOf(ratios),
    pairs: values.length,
    higher: ratios.filter((ratio) => ratio > 1).length,
    lower: ratios.filter((ratio) => ratio < 1).length,
  };
}

/** A change of the CPU time that must not go unseen. */
export const noticedChange = 0.03;

/** `more` and `less`: by 3 % or more. `unclear`: the pairs are too few or differ too much to tell. */
export type Verdict = 'more' | 'less' | 'same' | 'unclear';

const minPairs = 5;
/** How often pairs without a difference may look as if they had one. */
const maxErrors = 0.05;

/** Judges a change by its median and the sign test: with eight pairs, one of them may contradict. */
export function verdictOn({ ratio, pairs, higher, lower }: Omit<PairedFigure, 'before' | 'now'>): Verdict {
  const { median } = ratio;
  if (median >= 1 + noticedChange && chanceOf(pairs, pairs - higher) <= maxErrors) return 'more';
  if (median <= 1 - noticedChange && chanceOf(pairs, pairs - lower) <= maxErrors) return 'less';
  const isNear = Math.abs(median - 1) < noticedChange && ratio.upper - ratio.lower <= 2 * noticedChange;
  return isNear && pairs >= minPairs ? 'same' : 'unclear';
}

/** Probability that at most `most` of `tosses` coins show heads. */
function chanceOf(tosses: number, most: number): number {
  let [sum, ways] = [0, 1];
  for (let heads = 0; heads <= most; heads += 1) {
    sum += ways;
    ways *= (tosses - heads) / (heads + 1);
  }
  return sum / 2 ** tosses;
}
