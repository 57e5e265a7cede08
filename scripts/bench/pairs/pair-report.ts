import { rounded } from '../report/figures.js';
import { type Columns, reportTable, short } from '../report/tables.js';
import {
  type FigureName,
  figureNames,
  noticedChange,
  type Pair,
  type PairedFigure,
  pairedFigure,
  verdictOn,
} from './pair-figures.js';
import type { PairRow } from './pair-options.js';

export interface MeasuredRow {
  readonly row: PairRow;
  readonly pairs: readonly Pair[];
}

export interface PairOutcome {
  /** As given. */
  readonly ref: string;
  readonly commit: string;
  readonly rows: readonly MeasuredRow[];
}

interface ReportedFigure extends PairedFigure {
  readonly figure: FigureName;
  /** In tables. */
  readonly name: string;
}

function figuresOf({ row, pairs }: MeasuredRow): readonly ReportedFigure[] {
  const names = Object.keys(figureNames) as readonly FigureName[];
  return names.flatMap((figure) => {
    const found = pairedFigure(pairs, figure);
    return found === undefined ? [] : [{ figure, name: nameOf(figure, row), ...found }];
  });
}

/** An idle service scores no records. */
const nameOf = (figure: FigureName, row: PairRow): string =>
  row === 'idle' && figure === 'all' ? 'CPU-ms a second' : figureNames[figure];

/** The document of `--json`. */
export const jsonOfPairs = ({ ref, commit, rows }: PairOutcome): string =>
  JSON.stringify({
    ...{ against: ref, commit, node: process.versions.node },
    rows: rows.map((measured) => ({
      name: measured.row,
      figures: Object.fromEntries(
        figuresOf(measured).map(({ figure, before, now, ratio, pairs }) => [
          figure,
          {
            ...{ before: rounded(before), now: rounded(now), ratio: rounded(ratio.median) },
            ...{ lower: rounded(ratio.lower), upper: rounded(ratio.upper), pairs },
          },
        ]),
      ),
    })),
  });

/** A table for each row, and a line for each row on what its CPU time proves. */
export function textOfPairs({ ref, commit, rows }: PairOutcome): string {
  const name = ref === commit ? commit : `${ref} (${commit})`;
  const columns: Columns<ReportedFigure> = [
    ['', ({ name }) => name],
    ['before', ({ before }) => short(before)],
    ['now', ({ now }) => short(now)],
    ['ratio', ({ ratio }) => ratioText(ratio.median)],
    ['quartiles', ({ ratio }) => `${ratio.lower.toFixed(3)}-${ratio.upper.toFixed(3)}`],
  ];
  const tables = rows.map(
    (measured) => `${measured.row}, ${measured.pairs.length} pairs\n${reportTable(columns, figuresOf(measured))}`,
  );
  const intro = `before: ${name}; now: this working tree. Medians; ratios are now / before within a pair.`;
  return `${[intro, ...tables, rows.map(verdictLine).join('\n')].join('\n\n')}\n`;
}

const ratioText = (ratio: number): string => `x${ratio.toFixed(3)}`;
const noticed = `${100 * noticedChange} %`;

const verdictTexts = {
  more: `costs ${noticed} or more than before`,
  less: `costs less than before by ${noticed} or more`,
  same: `costs as much as before, within ${noticed}`,
  unclear: `is unclear: its pairs are too few or differ too much to see ${noticed}. Measure more on a quieter machine`,
} as const;

function verdictLine(measured: MeasuredRow): string {
  const all = pairedFigure(measured.pairs, 'all');
  if (all === undefined) return `${measured.row} used no CPU time that could be measured`;
  return `${measured.row} ${verdictTexts[verdictOn(all)]} (${ratioText(all.ratio.median)})`;
}
