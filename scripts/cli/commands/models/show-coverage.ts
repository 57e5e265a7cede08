import { printable, shareOf, valuesOf } from '../../../../shared/admin/models/field-attention.js';
import { showCoverage as showCoverageAction } from '../../../../shared/admin/models/model-coverage.js';
import type { coverageOutput } from '../../../../shared/admin/schemas/models.js';
import { wholePercentText } from '../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { perform } from '../../context/perform.js';
import { sparkline } from '../../output/charts.js';
import { countText } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { wrapText } from '../../output/wrap-text.js';

export type CoverageDocument = ShapeOf<typeof coverageOutput>;
type CoveredField = CoverageDocument['fields'][number];

/** Parsed options of `model coverage`. */
export interface CoverageOptions {
  readonly days?: number;
  readonly version?: string;
  readonly json?: boolean;
}

/** Shows how the fields of a model were read, and those that need attention. */
export async function showCoverage(
  context: CliContext,
  modelId: string,
  { days, version }: CoverageOptions,
): Promise<CommandResult> {
  const document = await perform(context, showCoverageAction, {
    model_id: modelId,
    ...(days === undefined ? {} : { days }),
    ...(version === undefined ? {} : { version }),
  });
  return { document, text: describeCoverage(document, lineWidth(context.stdout)) };
}

/** The line of `model show`: the fields that need attention. */
export async function coverageLine(context: CliContext, modelId: string, version: string): Promise<string> {
  const document = await perform(context, showCoverageAction, { model_id: modelId, version });
  const records = recordsOf(document);
  const period = `last ${document.days.length} days`;
  if (records === 0) return `${period}: no records`;
  const { attention } = document;
  const more = attention.length - maxNamed;
  const named = [
    ...attention.slice(0, maxNamed),
    ...(more > 0 ? [`${more} more: npx leadscore model coverage ${modelId}`] : []),
  ];
  return `${period}: ${countText(records)} records; ${named.join(', ') || 'all fields as usual'}`;
}

const maxNamed = 4;
const maxSparks = 14;
const maxValuesShown = 3;

const recordsOf = ({ days }: Pick<CoverageDocument, 'days'>): number =>
  days.reduce((sum, { records }) => sum + records, 0);

function describeCoverage(document: CoverageDocument, width: number): string {
  const { model_id, name, version, days, fields, attention } = document;
  const records = recordsOf(document);
  const head = renderFields(
    [
      ['Model', `${model_id} (${name}), version ${version}`],
      ['Records', `${countText(records)}, ${days[0]?.day} to ${days.at(-1)?.day} (UTC)`],
    ],
    { width },
  );
  if (records === 0) return `${head}\n\nNo record of a live key was scored with this version in these days.`;
  const partText = (count: number, whole: number) => (count === 0 ? '' : wholePercentText(shareOf(count, whole)));
  const columns: Columns<CoveredField> = [
    ['Field', ({ field }) => field],
    ['Sent', ({ sent }) => wholePercentText(shareOf(sent, records)), 'right'],
    ['Filled', ({ filled }) => partText(filled, records), 'right'],
    ['Unread', (field) => partText(field.unread, valuesOf(field)), 'right'],
    ['Unseen', (field) => partText(field.unseen, valuesOf(field)), 'right'],
    ['By day', (field) => sparkline(sharesByDay(field, document)), 'whole'],
    ['Unseen values', ({ unseen_values: unseen }) => unseen.slice(0, maxValuesShown).map(seenText).join(', ')],
  ];
  const table = tableOf(fields, columns, { width });
  const note =
    'Sent and filled are shares of the records; filled values are those of earlier scores. Unread and unseen are shares ' +
    'of the values. By day: the share of records with a value.';
  const advice =
    attention.length === 0
      ? 'All fields as usual.'
      : ['Needs attention:', ...attention.map((text) => `  ${text}`)].join('\n');
  return [head, table, wrapText(note, width), advice].join('\n\n');
}

const seenText = ({ value, records }: CoveredField['unseen_values'][number]): string =>
  `${printable(value)} ${countText(records)}`;

/** The share of records with a value on each day, or on some days together. Null without a record. */
function sharesByDay({ by_day: byDay }: CoveredField, { days }: CoverageDocument): (number | null)[] {
  const together = Math.ceil(days.length / maxSparks);
  return Array.from({ length: Math.ceil(days.length / together) }, (_, index) => {
    const [from, to] = [index * together, (index + 1) * together];
    const records = recordsOf({ days: days.slice(from, to) });
    const values = byDay.slice(from, to).reduce((sum, counts) => sum + valuesOf(counts), 0);
    return records === 0 ? null : shareOf(values, records);
  });
}
