import type { ScoreRow } from '../../cli/score/api-reply.js';
import { readableCount } from '../../terminal/readable-numbers.js';
import { renderTable } from '../../terminal/table.js';
import type { Screen } from './screen.js';
import { passSummary } from './show-first-pass.js';
import type { RescoredLead, TourResult } from './tour-result.js';
import { wrappedJson } from './wrapped-text.js';

const upShown = 5;
const downShown = 3;

/** Shows a file that was scored a second time: what is sent and answered, and whose score moved most. */
export function showMovers(screen: Screen, { second, moved }: Pick<TourResult, 'second' | 'moved'>): void {
  const { up, down, same } = moves(moved);
  const enriched = second.rows.filter((row) => row.enriched).length;
  screen.paragraph(`${passSummary(second)}.`);
  screen.paragraph(
    `${readableCount(enriched)} were known and come back enriched: ${readableCount(up)} went up, ${readableCount(down)} down, ${readableCount(same)} stayed.`,
  );
  const movers = biggestMovers(moved);
  const [example] = movers;
  if (example === undefined) return;
  showExample(screen, example);
  screen.print();
  screen.block(coloured(screen, moversTable(movers)));
}

/** How many scores rose, fell and stayed. */
export function moves(moved: readonly RescoredLead[]): { up: number; down: number; same: number } {
  const up = moved.filter(({ delta }) => delta > 0).length;
  const down = moved.filter(({ delta }) => delta < 0).length;
  return { up, down, same: moved.length - up - down };
}

/** The largest rises and the largest falls, largest rise first. */
export function biggestMovers(moved: readonly RescoredLead[]): RescoredLead[] {
  const up = moved.filter(({ delta }) => delta > 0).slice(0, upShown);
  const down = moved.filter(({ delta }) => delta < 0).slice(-downShown);
  return [...up, ...down];
}

function showExample(screen: Screen, { change, row }: RescoredLead): void {
  screen.print();
  screen.note(
    'A record needs its crm_id and what is new; the rest is known from before. A lead without news is sent as its ' +
      'crm_id alone.',
  );
  screen.print();
  screen.print(wrappedJson(JSON.stringify(change.record), { label: '  sent      ' }));
  screen.print(wrappedJson(JSON.stringify(asAnswered(row)), { label: '  answered  ' }));
}

/** Without the line number that the file of results adds. */
function asAnswered(row: ScoreRow): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'row'));
}

function moversTable(movers: readonly RescoredLead[]): string {
  return renderTable(
    [
      { name: 'Company' },
      { name: 'What happened' },
      { name: 'Before', align: 'right' },
      { name: 'Now', align: 'right' },
      { name: 'Delta', align: 'right' },
    ],
    movers.map(({ lead, change, row, delta }) => [
      String(lead.record.Company ?? '-'),
      change.what ?? 'nothing',
      String(row.previous_score ?? '-'),
      String(row.score),
      delta > 0 ? `+${delta}` : String(delta),
    ]),
    { width: 78 },
  );
}

/** Deltas, at the ends of the lines, in green and red. */
function coloured(screen: Screen, table: string): string {
  return table.replace(/[+-]\d+$/gm, (delta) =>
    screen.styled(delta.startsWith('+') ? 'green' : 'red', delta),
  );
}
