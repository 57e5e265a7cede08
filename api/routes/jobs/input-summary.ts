import { maxReportedValues } from '../../../shared/messages/score-job.js';
import { type CountedField, countsByPlace, type InputSums, placeOf } from '../../../shared/store/jobs/input-sums.js';

/** `input_summary` of a job, in the form of that of a batch without its examples. */
export function inputSummaryOf(
  countedFields: readonly CountedField[],
  { records, counts, ignored, different }: InputSums,
): Record<string, unknown> {
  const byPlace = countsByPlace(counts);
  const fields = countedFields.map(({ field, expected, date_order: order }, index) => {
    const count = (kind: Parameters<typeof placeOf>[1]) => byPlace.get(placeOf(index, kind)) ?? 0;
    return {
      ...{ field, sent: records - count('unsent'), unread: count('unread'), unseen: count('unseen') },
      ...(order !== undefined && { ambiguous: count('ambiguous'), date_order: order }),
      ...(count('unread') > 0 && { reason: `expected ${expected}` }),
    };
  });
  const unsent = new Set(fields.filter(({ sent }) => sent === 0).map(({ field }) => field));
  const named = ignored.map(({ name, records: sending = records, meant = [] }) => {
    const field = meant.find((each) => unsent.has(each));
    return { name, records: sending, ...(field !== undefined && { did_you_mean: field }) };
  });
  const byCount = named.toSorted((one, other) => other.records - one.records);
  const isMisspelt = (each: object): boolean => 'did_you_mean' in each;
  const shown = [...byCount.filter(isMisspelt), ...byCount.filter((each) => !isMisspelt(each))].slice(
    0,
    maxReportedValues,
  );
  return {
    records,
    fields,
    ignored: shown,
    ...(different > shown.length && { ignored_more: different - shown.length }),
  };
}
