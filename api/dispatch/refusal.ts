import { ApiError } from '../../shared/errors.js';
import { maxProblemsNamed, type RecordProblem, type RefusedPart } from '../../shared/score-job.js';

/** The error for records that cannot be featurized: it names at most five of the problems. */
export function refusal(parts: readonly RefusedPart[], nameOf: (record: number) => string): ApiError {
  const problems = parts.flatMap((part) => part.problems).slice(0, maxProblemsNamed);
  const count = parts.reduce((sum, part) => sum + part.problemCount, 0);
  const more = count > problems.length ? `; and ${count - problems.length} more` : '';
  return new ApiError(
    'refusedRequest',
    `${problems.map((problem) => describe(problem, nameOf)).join('; ')}${more}. Nothing of the call was counted.`,
  );
}

function describe(
  { record, field, expected, came }: RecordProblem,
  nameOf: (record: number) => string,
): string {
  return `${placeOf(nameOf(record), field)}: expected ${expected}, came ${came}`;
}

/** `records[17].annual_revenue`, or `records[17]["Annual Revenue"]` where the name is no identifier. */
function placeOf(record: string, field: string): string {
  if (field === '') return record;
  return /^[A-Za-z_$][\w$]*$/.test(field) ? `${record}.${field}` : `${record}[${JSON.stringify(field)}]`;
}
