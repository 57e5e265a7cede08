import { rateTexts } from '../../../shared/contract/figures.js';
import { countText } from './readable-numbers.js';

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/**
 * A horizontal bar of block characters, with a precision of an eighth of a character.
 * @param fraction clamped to 0..1. Any value above 0 shows at least an eighth
 * @param width in characters
 */
export function bar(fraction: number, width: number): string {
  const share = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
  const filled = Math.max(share > 0 ? 1 : 0, Math.round(share * width * 8));
  return '█'.repeat(Math.floor(filled / 8)) + (eighths[filled % 8] ?? '');
}

/** A bar padded to its whole width with light blocks. */
export function gauge(fraction: number, width: number): string {
  return bar(fraction, width).padEnd(width, '░');
}

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** Shares as one character each: its height, or a point for null. */
export const sparkline = (shares: readonly (number | null)[]): string =>
  shares
    .map((share) =>
      share === null ? '·' : heights[Math.round(Math.min(1, Math.max(0, share)) * (heights.length - 1))],
    )
    .join('');

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
  const countWidth = Math.max(0, ...bins.map((bin) => countText(bin.count).length));
  const barWidth = Math.max(8, Math.min(50, width - labelWidth - countWidth - '    100.0 %'.length));
  return bins
    .map(({ label, count }) => {
      const share = `${((100 * count) / Math.max(1, total)).toFixed(1)} %`.padStart(7);
      const drawn = bar(count / maxCount, barWidth).padEnd(barWidth);
      return `${label.padStart(labelWidth)}  ${drawn} ${countText(count).padStart(countWidth)} ${share}`;
    })
    .join('\n');
}

export interface RateBar {
  readonly label: string;
  readonly records: number;
  readonly conversions: number;
  /** 0 to 1; `low` and `high` are the ends of its confidence interval. */
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/**
 * A chart of rates as lines of text: label, bar, rate, interval, counts. A bar is solid up to the lower end of the
 * interval, dense up to the rate, and light up to the upper end.
 * @param bars from top to bottom; without records, no bar is drawn
 * @param options.width maximum characters of a line
 */
export function renderRateChart(bars: readonly RateBar[], { width = 80 }: { readonly width?: number } = {}): string {
  const withRecords = bars.filter(({ records }) => records > 0);
  const highest = Math.max(1e-9, ...withRecords.map(({ high }) => high));
  const percent = rateTexts(highest);
  const lines = bars.map((entry) => ({ entry, figures: figuresOf(entry, percent) }));
  const labelWidth = Math.max(0, ...bars.map(({ label }) => label.length));
  const figuresWidth = Math.max(0, ...lines.map(({ figures }) => figures.length));
  const barWidth = Math.max(10, Math.min(50, width - labelWidth - figuresWidth - 4));
  return lines
    .map(({ entry, figures }) => {
      const drawn = entry.records === 0 ? '' : drawBar(entry, { highest, barWidth });
      return `${entry.label.padStart(labelWidth)}  ${drawn.padEnd(barWidth)}  ${figures}`.trimEnd();
    })
    .join('\n');
}

function drawBar(
  { low, rate, high }: RateBar,
  { highest, barWidth }: { readonly highest: number; readonly barWidth: number },
): string {
  const [solid, dense, light] = [low, rate, high].map((share) => Math.round((share / highest) * barWidth));
  return '█'
    .repeat(solid ?? 0)
    .padEnd(dense ?? 0, '▒')
    .padEnd(light ?? 0, '░');
}

function figuresOf({ records, conversions, rate, low, high }: RateBar, percent: (rate: number) => string): string {
  if (records === 0) return 'no records';
  const interval = `[${percent(low)}, ${percent(high)}]`;
  return `${percent(rate).padStart(5)} %  ${interval.padEnd(13)} ${countText(conversions)} of ${countText(records)}`;
}
