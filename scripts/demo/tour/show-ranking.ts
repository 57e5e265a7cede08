import { bar } from '../../terminal/bar.js';
import { readableCount } from '../../terminal/readable-numbers.js';
import type { RankingQuality } from './ranking-quality.js';
import type { Screen } from './screen.js';

const barWidth = 40;

/** Shows how many leads of each score band convert, as bars, and what that says of the scores. */
export function showRanking(screen: Screen, quality: RankingQuality): void {
  const { leads, converted, bands, auc } = quality;
  const average = converted / Math.max(1, leads);
  screen.heading('Do high scores find the leads that convert?');
  screen.block(bandBars(screen, quality));
  screen.print();
  const top = bands.at(-1)?.rate ?? null;
  if (top !== null && average > 0)
    screen.paragraph(
      `In the top band ${percent(top)} convert, of all leads ${percent(average)}: ${(top / average).toFixed(1)} times as many.`,
    );
  if (auc !== null)
    screen.paragraph(
      `Of a lead that converts and one that does not, the first has the higher score in ${percent(auc)} of all pairs (AUC ${auc.toFixed(3)}).`,
    );
  screen.paragraph(
    'All of this is synthetic: which leads convert was drawn when they were made up. The model has not seen that; it ' +
      'was trained on other leads of the same making.',
  );
}

function bandBars(screen: Screen, { bands }: RankingQuality): string {
  const highest = Math.max(...bands.map((band) => band.rate ?? 0), Number.EPSILON);
  const lines = bands.map(({ label, leads, rate }) => {
    const drawn = bar((rate ?? 0) / highest, barWidth).padEnd(barWidth);
    const share = (rate === null ? '-' : percent(rate)).padStart(7);
    return `score ${label.padStart(6)}  ${screen.styled('cyan', drawn)} ${share} of ${readableCount(leads)}`;
  });
  return lines.reverse().join('\n');
}

/** A share as `14.2 %`. */
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
