import type { FieldReport } from '../../../../shared/files/field-match.js';
import { missingFields } from '../../../../shared/files/notices/header-notices.js';
import { mistakeSentences } from '../../outcomes/mistakes.js';
import { renderHistogram, ScoreHistogram } from '../../output/charts.js';
import { countText, readableDuration } from '../../output/readable-numbers.js';
import { renderFields } from '../../output/table.js';
import type { ReplyUsage } from '../calls/api-reply.js';
import { unknownOf, withoutId } from '../input/field-names.js';
import type { RunReport } from '../run-report.js';
import { inputTable } from './input-table.js';

/** Summary of a run for `--json`. */
export function summaryDocument(report: RunReport): Record<string, unknown> {
  const { figures } = report;
  const seconds = figures.elapsedMs / 1000;
  return {
    input: report.input,
    output: report.output,
    complete: report.complete,
    rows: report.rows,
    records: figures.records,
    empty_rows: figures.emptyRows,
    rows_without_score: figures.refused,
    ...(figures.refused === 0 ? {} : { problems: mistakeSentences(figures.mistakes, report.name) }),
    resumed_after_row: report.resumedAfterRow,
    seconds: Math.round(seconds * 1000) / 1000,
    records_per_second: seconds > 0 ? Math.round(figures.records / seconds) : 0,
    enriched: figures.enriched,
    with_warnings: figures.warned,
    with_crm_id: figures.withCrmId,
    ...(report.fields === undefined ? {} : { fields: fieldsDocument(report.fields) }),
    ...(report.notices.length === 0 ? {} : { notices: report.notices }),
    histogram: new ScoreHistogram(figures.histogram).bins(),
    ...(figures.input === undefined ? {} : { input_summary: figures.input }),
    ...(figures.usage === undefined ? {} : { usage: figures.usage }),
    ...(figures.validation === undefined ? {} : { validation: figures.validation }),
  };
}

const fieldsDocument = ({ known, notInFile, unknown }: FieldReport): Record<string, unknown> => ({
  known,
  not_in_file: notInFile,
  not_known_to_model: unknown,
});

/** Summary of a run as text: the figures and a histogram of the scores. */
export function summaryText(report: RunReport, { width }: { readonly width: number }): string {
  const { figures, complete } = report;
  const isNothing = !complete && report.rows === 0;
  const rate = countText(Math.round((1000 * figures.records) / Math.max(1, figures.elapsedMs)));
  const lines: [string, string | undefined][] = [
    ['Records', `${countText(figures.records)} in ${readableDuration(figures.elapsedMs)} (${rate}/s)`],
    ['Empty rows', figures.emptyRows === 0 ? undefined : `${countText(figures.emptyRows)} skipped`],
    ['No score', figures.refused === 0 ? undefined : `${countText(figures.refused)} rows, not counted`],
    ['Enriched', `${countText(figures.enriched)} matched earlier scores`],
    ['Warnings', figures.warned === 0 ? undefined : `${countText(figures.warned)} records, see the output`],
    ['Fields', fieldsText(report)],
    ['crm_id', crmIdText(report)],
    ['Notices', report.notices.join('\n') || undefined],
    ['Usage', figures.usage === undefined ? undefined : usageText(figures.usage)],
    ['Validation', figures.validation?.summary],
    ['Results', report.output === '-' || isNothing ? undefined : report.output],
  ];
  const fields = renderFields(lines, { width });
  const histogram = renderHistogram(new ScoreHistogram(figures.histogram).bins(), { width });
  const stopped = isNothing
    ? 'Stopped before any record was scored.'
    : `Stopped after row ${countText(report.rows)}. Run the same command again to resume.`;
  const input = figures.input === undefined ? '' : inputTable(figures.input, { width });
  const scores = figures.records === 0 ? '' : `Scores\n${histogram}`;
  return [fields, scores, input, refusedText(report), complete ? '' : stopped]
    .filter((part) => part !== '')
    .join('\n\n');
}

const maxReasons = 10;

/** The first rows without a score and their reasons. */
function refusedText({ figures: { mistakes }, name, output, complete }: RunReport): string {
  if (mistakes.length === 0) return '';
  const sentences = mistakeSentences(mistakes, name);
  const more = sentences.length - maxReasons;
  const next =
    output === '-' || !complete ? [] : ['Correct these rows and run the same command again: it sends no others.'];
  return [
    'Rows without a score',
    ...sentences.slice(0, maxReasons),
    ...(more > 0 ? [`and ${countText(more)} more, see the column "error" of the output`] : []),
    ...next,
  ].join('\n');
}

function fieldsText({ fields, format }: RunReport): string | undefined {
  if (fields === undefined) return undefined;
  const sentences = [missingFields(fields), unknownOf(fields, format)];
  return sentences.filter((each) => each !== undefined).join('\n') || undefined;
}

function crmIdText({ format, fields, figures: { records, withCrmId } }: RunReport): string | undefined {
  if (withCrmId === records) return undefined;
  if (withCrmId === 0) return `No record has one. ${withoutId(format, fields?.unknown)}`;
  return `${countText(records - withCrmId)} of ${countText(records)} records have none. Their scores cannot be looked up later and cannot be graded`;
}

/** The usage of the month in words. */
export function usageText({ current, limit, remaining, backstop }: ReplyUsage): string {
  const used = `${countText(current)} of ${countText(limit)} this month`;
  if (remaining >= 0) return `${used}, ${countText(remaining)} left`;
  const stop = backstop === null ? '' : `, hard stop at ${countText(backstop)}`;
  return `${used}, ${countText(-remaining)} into the grace band${stop}`;
}
