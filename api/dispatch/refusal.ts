import { ApiError } from '../../shared/errors.js';
import type { KnownFields } from '../../shared/known-fields.js';
import { maxProblemsNamed, type RecordProblem, type RefusedPart } from '../../shared/score-job.js';
import type { ScoringCall } from '../scoring-call.js';

/** Characters of a caller's field name that a message carries. */
const longestSentName = 100;

/** The error for records that cannot be featurized. */
class RecordsRefused extends ApiError {
  constructor(
    message: string,
    readonly parts: readonly RefusedPart[],
  ) {
    super('refusedRequest', message);
  }
}

/**
 * The error for records that cannot be featurized: it names at most five of the problems.
 * @param sentNameOf the name under which a problem's field was sent; undefined where it is the model's own, or unknown
 */
export function refusal(
  parts: readonly RefusedPart[],
  nameOf: (record: number) => string,
  sentNameOf: (problem: RecordProblem) => string | undefined = () => undefined,
): ApiError {
  const problems = parts.flatMap((part) => part.problems).slice(0, maxProblemsNamed);
  const count = parts.reduce((sum, part) => sum + part.problemCount, 0);
  const more = count > problems.length ? `; and ${count - problems.length} more` : '';
  const described = problems.map((problem) => {
    const { record, field, expected, came } = problem;
    return `${placeOf(nameOf(record), field)}: expected ${expected}, came ${came}${asSent(sentNameOf(problem))}`;
  });
  return new RecordsRefused(`${described.join('; ')}${more}. Nothing of the call was counted.`, parts);
}

/**
 * A refusal that also tells under which names the fields were sent, where the model has others: names are matched
 * folded, or by an alias. Any other error as it is.
 */
export function withSentNames(
  error: unknown,
  { records, nameOfRecord }: Pick<ScoringCall, 'records' | 'nameOfRecord'>,
  knownFields: Pick<KnownFields, 'keyOf'>,
): unknown {
  if (!(error instanceof RecordsRefused)) return error;
  return refusal(error.parts, nameOfRecord, ({ record, field }) => {
    const key = knownFields.keyOf(records[record]?.fields ?? {}, field);
    return key === field ? undefined : key;
  });
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
