import { showComparison } from '../../../../shared/admin/models/candidates/compare-candidate.js';
import type { comparisonOutput } from '../../../../shared/admin/schemas/comparison.js';
import { countText, figureText, shareText } from '../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { bandScores } from '../../../../shared/contract/verdict.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { perform } from '../../context/perform.js';
import { readableDate } from '../../output/readable-numbers.js';
import { renderFields, renderTable } from '../../output/table.js';

type Reply = ShapeOf<typeof comparisonOutput>;
type Comparison = NonNullable<Reply['comparison']>;

/** Shows the comparison of a model's candidate with the version that scores calls. */
export async function compareModel(context: CliContext, modelId: string): Promise<CommandResult> {
  const document = await perform(context, showComparison, { model_id: modelId });
  return { document, text: describeComparison(document, lineWidth(context.stdout)) };
}

/** A comparison as text: its verdict, the statistics of both versions, and how leads moved between score bands. */
function describeComparison({ comparison, ...reply }: Reply, width: number): string {
  const head = renderFields(
    [
      ['Model', reply.model_id],
      ['Candidate', reply.candidate],
      ['Current', reply.base],
      ['Verdict', comparison?.verdict ?? 'none yet'],
      ['', reply.summary],
      ...(comparison === null ? [] : evidenceOf(comparison)),
    ],
    { width },
  );
  return comparison === null
    ? head
    : [head, ...statisticsOf(comparison, width), movesOf(comparison, width)].join('\n\n');
}

function evidenceOf(comparison: Comparison): [string, string | undefined][] {
  const { leads, conversions, horizon_days: days, scored, seen, moved, psi, missing_fields: missing } = comparison;
  const least = `chance alone reaches ${figureText(psi.chance_99)} in 1 % of cases`;
  return [
    [
      'Judged',
      `${countText(leads)} leads that had ${countText(days)} days to convert, ${countText(conversions)} of them converted`,
    ],
    ['Scored', `${countText(scored)} leads by both versions; ${countText(seen)} may be among those of the training`],
    ['Moved', `${shareText(moved)} of these to another band; stability index ${figureText(psi.value)}, ${least}`],
    ['Not recorded', missing.length === 0 ? undefined : missing.join(', ')],
    ['Compared', `${readableDate(new Date(comparison.compared_at))} UTC`],
  ];
}

/** A table of the statistics; none with too few leads. */
function statisticsOf({ base, candidate, lift, auc }: Comparison, width: number): string[] {
  const rows = [
    ['Lift', lift],
    ['AUC', auc],
  ] as const;
  const texts = rows.flatMap(([name, pair]) =>
    pair === null ? [] : [[name, boundedText(pair.base), boundedText(pair.candidate), boundedText(pair.difference)]],
  );
  if (texts.length === 0) return [];
  const names = ['', `Current ${base}`, `Candidate ${candidate}`, 'Difference'];
  const title = 'Lift of the top fifth, and AUC, of the judged leads (2.5 standard errors on each side)';
  const columns = names.map((name) => ({ name }));
  return [`${title}\n\n${renderTable(columns, texts, { width })}`];
}

const boundedText = ([value = 0, low = 0, high = 0]: readonly number[]): string =>
  `${figureText(value, 0)} [${figureText(low, 0)}, ${figureText(high, 0)}]`;

function movesOf({ moves }: Comparison, width: number): string {
  const title = 'Leads by score: a row for each band of the current version, a column for each of the candidate';
  const rows = moves.map((row, band) => [bandScores[band] ?? '', ...row.map(countText)]).reverse();
  const columns = ['Current', ...bandScores].map(
    (name, index) => ({ name, align: index === 0 ? 'left' : 'right' }) as const,
  );
  return `${title}\n\n${renderTable(columns, rows, { width })}`;
}
