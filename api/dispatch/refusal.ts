import { ApiError } from '../../shared/errors.js';
import type { KnownFields } from '../../shared/known-fields.js';
import { maxProblemsNamed, nothingKnown, type RefusedPart } from '../../shared/score-job.js';
import type { ScoringCall } from '../scoring-call.js';

/** Characters of a caller's field name that a message carries. */
const longestSentName = 100;

/**
 * The error for records that cannot be featurized: it names at most five of the problems, each with the name under which
 * its field was sent, where the model has another: names are matched folded, or by an alias.
 */
export function refusal(
  parts: readonly RefusedPart[],
  { modelId, records, nameOfRecord }: Pick<ScoringCall, 'modelId' | 'records' | 'nameOfRecord'>,
  knownFields: Pick<KnownFields, 'keyOf'>,
): ApiError {
  const problems = parts.flatMap((part) => part.problems).slice(0, maxProblemsNamed);
  const count = parts.reduce((sum, part) => sum + part.problemCount, 0);
  const more = count > problems.length ? `; and ${count - problems.length} more` : '';
  const described = problems.map(({ record, field, expected, came }) => {
    const key = knownFields.keyOf(records[record]?.fields ?? {}, field);
    const sentAs = key === field ? '' : asSent(key);
    return `${placeOf(nameOfRecord(record), field)}: expected ${expected}, came ${came}${sentAs}`;
  });
  // Whoever sent none of the model's names has others, and cannot tell from this which it knows.
  const isNoneKnown = problems.some(({ expected }) => expected === nothingKnown.expected);
  const names = isNoneKnown ? ` GET /v1/models/${modelId} lists its fields.` : '';
  return new ApiError(
    'refusedRequest',
    `${described.join('; ')}${more}. Nothing of the call was counted.${names}`,
  );
}

/** `records[17].annual_revenue`, or `records[17]["Annual Revenue"]` where the name is no identifier. */
function placeOf(record: string, field: string): string {
  if (field === '') return record;
  return /^[A-Za-z_$][\w$]*$/.test(field) ? `${record}.${field}` : `${record}[${JSON.stringify(field)}]`;
}

function asSent(name: string | undefined): string {
  if (name === undefined) return '';
  const shown = name.length > longestSentName ? `${name.slice(0, longestSentName - 1)}…` : name;
  return ` (sent as ${JSON.stringify(shown)})`;
}
