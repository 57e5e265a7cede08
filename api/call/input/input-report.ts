import { shortenedText } from '../../../shared/contract/texts.js';
import { maxReportedValue, maxReportedValues, type ScoredPart } from '../../../shared/messages/score-job.js';
import type { SentNames } from '../../../shared/messages/sent-names.js';
import { SuggestionWork } from '../../../shared/messages/similar-fields.js';
import type { AdmittedModel, CallRecord, ScoringCall } from '../scoring-call.js';
import { type IgnoredNames, ignoredIn, ignoredNamesOf } from './ignored-names.js';
import { type FieldReading, ReportedFields } from './reported-fields.js';

/** The names of a call that asks for a report, and the model that read its records. */
export interface ReadInput {
  readonly names: SentNames;
  readonly model: AdmittedModel;
}

/** The report on how the fields of a call were read, as JSON. */
export interface InputReport {
  /** The value of `input_summary`. */
  readonly summary: string;
  /** Writes the value of `input` of a record. Only for a call that asks for the report of each record. */
  readonly ofRecord?: (record: number) => string;
}

const noIdReason = 'expected the id of one record, not a placeholder or a shortened number';

/** Ignored names of a call for which a field is sought. */
const maxSought = 200;

/** The fields that an ignored name may mean, the most likely first. */
type Suggestions = ReadonlyMap<string, readonly string[]>;

/**
 * Makes the report of a call.
 * @returns undefined for a call that asks for none
 */
export function inputReport(
  call: Pick<ScoringCall, 'records' | 'inputReport'>,
  { parts, input }: { readonly parts: readonly ScoredPart[]; readonly input?: ReadInput },
): InputReport | undefined {
  if (call.inputReport === undefined || input === undefined) return undefined;
  const fields = ReportedFields.of(input.model);
  const ignored = ignoredNamesOf(call, input.names);
  const suggestions = suggestionsOf(ignored, fields);
  const summary = JSON.stringify(summaryOf(call, parts, { fields, ignored, suggestions }));
  if (call.inputReport === 'summary') return { summary };
  const ofRecords = parts.flatMap(({ readings }) => readings.records ?? []);
  const ofRecord = (index: number): string => {
    const record = call.records[index];
    const readings = fields.ofRecord(ofRecords[index] ?? []);
    return record === undefined
      ? '{}'
      : JSON.stringify(recordReport(record, readings, { fields, suggestions, names: input.names }));
  };
  return { summary, ofRecord };
}

function suggestionsOf({ counts }: IgnoredNames, { similar }: ReportedFields): Suggestions {
  const work = new SuggestionWork();
  const suggestions = new Map<string, readonly string[]>();
  for (const name of counts.keys()) {
    if (suggestions.size >= maxSought) break;
    suggestions.set(name, similar.of(name, work));
  }
  return suggestions;
}

function summaryOf(
  { records }: Pick<ScoringCall, 'records'>,
  parts: readonly ScoredPart[],
  of: { readonly fields: ReportedFields; readonly ignored: IgnoredNames; readonly suggestions: Suggestions },
): object {
  const readings = parts.map((part) => part.readings);
  const counts = of.fields.counts(readings);
  const values = of.fields.values(readings);
  const sentOf = (field: number): number =>
    records.length - (counts[field]?.missing ?? 0) - (counts[field]?.filled ?? 0);
  const unsent = new Set(of.fields.names.filter((_, field) => sentOf(field) === 0));
  const ignored = [...of.ignored.counts].map(([name, sending]) => {
    const meant = of.suggestions.get(name)?.find((field) => unsent.has(field));
    return { name: shownName(name), records: sending, ...(meant !== undefined && { did_you_mean: meant }) };
  });
  // A misspelt name must not be lost among many that the model was not trained on.
  const named = [...ignored.filter(isSuggested), ...ignored.filter((each) => !isSuggested(each))];
  const shown = named.slice(0, maxReportedValues);
  const fields = of.fields.names.map((field, index) => {
    const { unread = 0, unseen = 0, ambiguous = 0 } = counts[index] ?? {};
    const order = of.fields.dateOrders[index];
    return {
      ...{ field, sent: sentOf(index), unread, unseen },
      ...(order !== undefined && { ambiguous, date_order: order }),
      examples: (values.get(index) ?? []).slice(0, maxReportedValues),
      ...(unread > 0 && { reason: reasonOf(of.fields, index) }),
    };
  });
  return {
    records: records.length,
    fields: [...fields, ...idSummary(records)],
    ignored: shown,
    ...(of.ignored.different > shown.length && { ignored_more: of.ignored.different - shown.length }),
  };
}

/** The crm_id as a further field, if some record sent one that is no id. */
function idSummary(records: readonly CallRecord[]): object[] {
  const sent = records.filter(({ crmId, echo }) => crmId !== null || echo !== undefined).length;
  const unread = records.flatMap(({ echo }) => (echo === undefined ? [] : [shownName(echo)]));
  if (unread.length === 0) return [];
  const examples = [...new Set(unread)].slice(0, maxReportedValues);
  return [{ field: 'crm_id', sent, unread: unread.length, unseen: 0, examples, reason: noIdReason }];
}

const isSuggested = (ignored: object): boolean => 'did_you_mean' in ignored;

function recordReport(
  record: CallRecord,
  readings: ReadonlyMap<number, FieldReading>,
  by: { readonly fields: ReportedFields; readonly suggestions: Suggestions; readonly names: SentNames },
): object {
  const { fields, suggestions, names } = by;
  const all = [...readings].map(([field, reading]) => ({ ...reading, index: field, field: fields.names[field] ?? '' }));
  const namesWith = (is: (reading: FieldReading) => boolean): string[] => all.filter(is).map(({ field }) => field);
  const lists = {
    missing: namesWith(({ kind }) => kind === 'missing'),
    filled: namesWith(({ isFilled }) => isFilled),
    unread: all
      .filter(({ kind }) => kind === 'unread')
      .map(({ index, field, value }) => ({ field, value, reason: reasonOf(fields, index) })),
    unseen: all.filter(({ kind }) => kind === 'unseen').map(({ field, value }) => ({ field, value })),
    ambiguous: all
      .filter(({ kind }) => kind === 'ambiguous')
      .map(({ index, field, value }) => ({ field, value, date_order: fields.dateOrders[index] })),
  };
  const unsent = new Set([...lists.missing, ...lists.filled]);
  const meant: [string, string][] = [];
  const others: string[] = [];
  for (const name of ignoredIn(record, names)) {
    const field = suggestions.get(name)?.find((each) => unsent.has(each));
    if (field === undefined) others.push(name);
    else meant.push([shownName(name), field]);
  }
  const ignored = [...meant.map(([name]) => name), ...others];
  const used = fields.names.length - lists.missing.length - lists.unread.length;
  if (record.echo !== undefined)
    lists.unread.unshift({ field: 'crm_id', value: shownName(record.echo), reason: noIdReason });
  const shown = { ...mapLists(lists, (list) => list.slice(0, maxReportedValues)) };
  const more = Object.entries({ ...mapLists(lists, ({ length }) => length), ignored: ignored.length }).filter(
    ([, length]) => length > maxReportedValues,
  );
  return {
    used,
    ...shown,
    ignored: ignored.slice(0, maxReportedValues).map(shownName),
    did_you_mean: Object.fromEntries(meant.slice(0, maxReportedValues)),
    ...(more.length > 0 && {
      more: Object.fromEntries(more.map(([list, length]) => [list, length - maxReportedValues])),
    }),
  };
}

const mapLists = <Result>(
  lists: Readonly<Record<string, readonly unknown[]>>,
  change: (list: readonly unknown[]) => Result,
): Record<string, Result> => Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, change(list)]));

const reasonOf = ({ expected }: ReportedFields, field: number): string => `expected ${expected[field]}`;

const shownName = (name: string): string => shortenedText(name, maxReportedValue).toWellFormed();
