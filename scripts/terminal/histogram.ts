import { bar } from './bar.js';
import { readableCount } from './readable-numbers.js';

export interface HistogramBin {
  readonly label: string;
  readonly count: number;
}

/** Counts scores in ten bins: 0-9, 10-19, …, 90-100. */
export class ScoreHistogram {
  private readonly counts: number[];

  /** @param counts of an earlier run to continue from, one for each bin */
  constructor(counts: readonly number[] = []) {
    this.counts = Array.from({ length: 10 }, (_, bin) => counts[bin] ?? 0);
  }

  /** @param score 0 to 100 */
  add(score: number): void {
    const bin = Math.min(9, Math.max(0, Math.floor(score / 10)));
    this.counts[bin] = (this.counts[bin] ?? 0) + 1;
  }

  /** Lowest scores first. */
  toCounts(): number[] {
    return [...this.counts];
  }

  /** Lowest scores first. */
  bins(): HistogramBin[] {
    return this.counts.map((count, bin) => ({
      label: `${bin * 10}-${bin === 9 ? 100 : bin * 10 + 9}`,
      count,
    }));
  }
}

/**
 * A histogram as lines of text: label, bar, count and share of the total.
 * @param bins from top to bottom
 * @param options.width maximum characters of a line
 */
export function renderHistogram(
  bins: readonly HistogramBin[],
  { width = 80 }: { readonly width?: number } = {},
): string {
  const maxCount = Math.max(1, ...bins.map((bin) => bin.count));
  const total = bins.reduce((sum, bin) => sum + bin.count, 0);
  const labelWidth = Math.max(0, ...bins.map((bin) => bin.label.length));
  const countWidth = Math.max(0, ...bins.map((bin) => readableCount(bin.count).length));
  const barWidth = Math.max(8, Math.min(50, width - labelWidth - countWidth - '    100.0 %'.length));
  return bins
    .map(({ label, count }) => {
      const share = `${((100 * count) / Math.max(1, total)).toFixed(1)} %`.padStart(7);
      const drawn = bar(count / maxCount, barWidth).padEnd(barWidth);
      return `${label.padStart(labelWidth)}  ${drawn} ${readableCount(count).padStart(countWidth)} ${share}`;
    })
    .join('\n');
}
