import { readableCount } from './readable-numbers.js';

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
export function renderRateChart(
  bars: readonly RateBar[],
  { width = 80 }: { readonly width?: number } = {},
): string {
  const withRecords = bars.filter(({ records }) => records > 0);
  const highest = Math.max(1e-9, ...withRecords.map(({ high }) => high));
  const decimals = decimalsOf(highest);
  const lines = bars.map((entry) => ({ entry, figures: figuresOf(entry, decimals) }));
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

function figuresOf({ records, conversions, rate, low, high }: RateBar, decimals: number): string {
  if (records === 0) return 'no records';
  const percent = (share: number): string => (100 * share).toFixed(decimals);
  const interval = `[${percent(low)}, ${percent(high)}]`;
  return `${percent(rate).padStart(5)} %  ${interval.padEnd(13)} ${readableCount(conversions)} of ${readableCount(records)}`;
}

/** Decimals of a percentage: one, or more when all rates would round to zero. */
const decimalsOf = (highest: number): number => Math.min(4, Math.max(1, Math.floor(-Math.log10(highest))));
