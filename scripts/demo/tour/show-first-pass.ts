import { renderHistogram, ScoreHistogram } from '../../terminal/histogram.js';
import { readableCount, readableDuration } from '../../terminal/readable-numbers.js';
import { renderTable } from '../../terminal/table.js';
import type { ScoredPass } from './score-pass.js';
import type { Screen } from './screen.js';
import { showRanking } from './show-ranking.js';
import type { ShownLeads } from './shown-reasons.js';
import type { ScoredLead, TourResult } from './tour-result.js';

/** Shows a scored file: how fast it went, the best and the worst leads, the histogram, and how well scores rank. */
export function showFirstPass(
  screen: Screen,
  {
    first,
    ranked,
    quality,
    shown,
  }: Pick<TourResult, 'first' | 'ranked' | 'quality'> & { readonly shown: ShownLeads },
): void {
  screen.paragraph(`${passSummary(first)}.`);
  showWarnings(screen, first);
  showBestAndWorst(screen, shown);
  showScores(screen, ranked);
  showRanking(screen, quality);
}

/** How much was scored and how fast, without the full stop. */
export function passSummary({ rows, calls, elapsedMs, recordsPerSecond }: ScoredPass): string {
  const times = `${readableCount(calls)} HTTP ${calls === 1 ? 'call' : 'calls'}`;
  const rate = `${readableCount(recordsPerSecond)} a second`;
  return `${readableCount(rows.length)} records in ${times} and ${readableDuration(elapsedMs)}: ${rate} on this machine`;
}

function showWarnings(screen: Screen, { rows }: ScoredPass): void {
  const warned = rows.filter((row) => (row.warnings ?? []).length > 0);
  const [example] = warned[0]?.warnings ?? [];
  if (example === undefined) return;
  screen.note(
    `${readableCount(warned.length)} of the answers carry a warning beside the score, such as "${example}".`,
  );
}

function showBestAndWorst(screen: Screen, { best, worst, reasons }: ShownLeads): void {
  const leadCells = ({ row }: ScoredLead): string[] => [
    row.crm_id ?? '',
    String(row.score),
    row.conversion_likelihood.toFixed(4),
    inOneLine(reasons.get(row.crm_id ?? '')),
  ];
  const gap = worst.length === 0 ? [] : [['…']];
  screen.heading(
    worst.length === 0
      ? 'The leads, best first'
      : `The ${best.length} best leads, and the last ${worst.length}`,
  );
  screen.block(
    renderTable(
      [
        { name: 'Lead', whole: true },
        { name: 'Score', align: 'right', whole: true },
        { name: 'Likelihood', align: 'right', whole: true },
        { name: 'What moved the score most' },
      ],
      [...best.map(leadCells), ...gap, ...worst.map(leadCells)],
      { width: 78 },
    ),
  );
  screen.print();
  screen.note(
    'The reasons were asked for in a call of their own, with "explain": true and nothing but the crm_ids: the fields are ' +
      'known from before.',
  );
}

/** A text in one line, as a CRM's values need not be; a dash where it has none. */
function inOneLine(value: unknown): string {
  const text = String(value ?? '')
    .replace(/\s+/g, ' ')
    .trim();
  return text === '' ? '-' : text;
}

function showScores(screen: Screen, ranked: readonly ScoredLead[]): void {
  const histogram = new ScoreHistogram();
  for (const { row } of ranked) histogram.add(row.score);
  screen.heading('All scores');
  screen.block(renderHistogram(histogram.bins(), { width: 78 }));
  screen.print();
  screen.note(
    'A score is a rank: 90 means better than 90 % of the leads that the model was trained on, so about as many ' +
      'leads fall into each row. The likelihood is the probability that the lead converts.',
  );
}
