import { countText } from '../../../shared/contract/figures.js';
import { listedNames } from '../../../shared/files/reading/csv-columns.js';
import type { JobSlice } from '../../../shared/store/jobs/job-documents.js';
import { type KindCounts, ReportedFields } from '../../call/input/reported-fields.js';
import type { ScoredRows } from '../../call/score-outcome.js';
import type { AdmittedModel } from '../../call/scoring-call.js';

const remedy = 'Send some of these rows to POST /v1/score with "input_report": true to see why';

/**
 * Sentences about fields of whose values in a slice the model could use none. They come with the first rows,
 * and quote no value.
 */
export function unusedValues(
  { parts }: Pick<ScoredRows, 'parts'>,
  model: AdmittedModel,
  { first_row: first, rows }: Pick<JobSlice, 'first_row' | 'rows'>,
): string[] {
  const records = parts.reduce((sum, { scores }) => sum + scores.length, 0);
  const fields = ReportedFields.of(model);
  const counts = fields.counts(parts.map(({ readings }) => readings));
  const place = rows === 1 ? `row ${countText(first)}` : `rows ${countText(first)} to ${countText(first + rows - 1)}`;
  const sentence = (kind: 'unread' | 'unseen', reason: string): string[] => {
    const names = fields.names.filter((_, field) => hasOnly(kind, counts[field], records));
    return names.length === 0 ? [] : [`No value of ${listedNames(names)} in ${place} ${reason}. ${remedy}`];
  };
  return [...sentence('unread', 'could be read'), ...sentence('unseen', 'is one that the model was trained with')];
}

/** Whether a field was sent, and all its values are of a kind. An earlier value that fills a field was not sent. */
function hasOnly(kind: 'unread' | 'unseen', counts: KindCounts | undefined, records: number): boolean {
  if (counts === undefined || counts.filled > 0) return false;
  const sent = records - counts.missing;
  return sent > 0 && counts[kind] === sent;
}
