import { shortenedText } from '../../../shared/contract/texts.js';
import { maxReportedValue } from '../../../shared/messages/score-job.js';
import { SuggestionWork } from '../../../shared/messages/similar-fields.js';
import {
  type CountedField,
  countedKinds,
  type IgnoredSum,
  type InputSums,
  maxIgnoredSums,
  placeOf,
} from '../../../shared/store/jobs/input-sums.js';
import { ignoredNamesOf } from '../../call/input/ignored-names.js';
import { type KindCounts, ReportedFields } from '../../call/input/reported-fields.js';
import type { ScoredRows } from '../../call/score-outcome.js';
import type { AdmittedModel, ScoringCall } from '../../call/scoring-call.js';

/** Names of one slice that are kept: there may be 10,000 slices. */
const maxOfSlice = 100;

/** The fields of a model, as `InputSums` counts them. */
export function countedFields(model: AdmittedModel): CountedField[] {
  const { names, expected, dateOrders } = ReportedFields.of(model);
  return names.map((field, index) => {
    const order = dateOrders[index];
    return { field, expected: expected[index] ?? '', ...(order !== undefined && { date_order: order }) };
  });
}

/**
 * The sums of a file of which no row is scored yet.
 * @param unknown the columns of a CSV that the model does not know. Members of JSONL are counted by slice
 */
export function unreadInput(model: AdmittedModel, unknown: readonly string[]): InputSums {
  const ignored = ignoredSums(unknown, model, maxIgnoredSums);
  return { records: 0, counts: [], ignored, different: unknown.length };
}

/**
 * Counts how the fields of a slice were read.
 * @param call with its accepted records
 */
export async function sliceInput(
  call: Pick<ScoringCall, 'records'>,
  model: AdmittedModel,
  { parts, input }: Pick<ScoredRows, 'parts' | 'input'>,
): Promise<InputSums> {
  const counts = ReportedFields.of(model)
    .counts(parts.map(({ readings }) => readings))
    .flatMap((each, field) => countedKinds.map((kind) => [placeOf(field, kind), countOf(each, kind)]))
    .filter(([, count]) => count !== 0)
    .flat();
  const sent = input === undefined ? undefined : await ignoredNamesOf(call, input.names);
  const records = new Map([...(sent?.counts ?? [])].map(([name, sending]) => [shownName(name), sending]));
  const ignored = ignoredSums([...(sent?.counts.keys() ?? [])], model, maxOfSlice);
  return {
    records: parts.reduce((sum, { scores }) => sum + scores.length, 0),
    counts,
    ignored: ignored.map((each) => ({ ...each, records: records.get(each.name) ?? 0 })),
    different: sent?.different ?? 0,
  };
}

const countOf = (counts: KindCounts, kind: (typeof countedKinds)[number]): number =>
  kind === 'unsent' ? counts.missing + counts.filled : counts[kind];

/** Names with the fields that each may mean. A misspelt name must not be lost among many others. */
function ignoredSums(names: readonly string[], model: AdmittedModel, max: number): IgnoredSum[] {
  const { similar } = ReportedFields.of(model);
  const work = new SuggestionWork();
  const sums = new Map<string, IgnoredSum>();
  for (const each of names) {
    const name = shownName(each);
    const meant = similar.of(each, work);
    if (!sums.has(name)) sums.set(name, { name, ...(meant.length > 0 && { meant }) });
  }
  const all = [...sums.values()];
  const misspelt = all.filter(({ meant }) => meant !== undefined);
  return [...misspelt, ...all.filter(({ meant }) => meant === undefined)].slice(0, max);
}

const shownName = (name: string): string => shortenedText(name, maxReportedValue).toWellFormed();
