import { ApiError } from '../../shared/contract/errors.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import { maxProblemsNamed, nothingKnown, type RefusedPart } from '../../shared/messages/score-job.js';
import type { ScoringCall } from '../scoring/scoring-call.js';

/** Characters of a caller's field name that a message carries. */
const maxSentName = 100;
/** Names of a record that a message carries. */
const maxSentNames = 5;

/**
 * The error for records that cannot be featurized: it names at most five of the problems, each with the name under which
 * its field was sent, where the model has another: names are matched folded, or by an alias. Of a record without a field
 * that the model knows it tells what it has instead, and where the model's fields are listed.
 */
export function refusal(
  parts: readonly RefusedPart[],
  { records, nameOfRecord, modelId }: Pick<ScoringCall, 'records' | 'nameOfRecord' | 'modelId'>,
  knownFields: Pick<KnownFields, 'keyOf'>,
): ApiError {
  const problems = parts.flatMap((part) => part.problems).slice(0, maxProblemsNamed);
  const count = parts.reduce((sum, part) => sum + part.problemCount, 0);
  const more = count > problems.length ? `; and ${count - problems.length} more` : '';
  const described = problems.map(({ record, field, expected, came }) => {
    const fields = records[record]?.fields ?? {};
    const key = knownFields.keyOf(fields, field);
    const sentAs = expected === nothingKnown.expected ? namesIn(fields) : key === field ? '' : asSent(key);
    return `${placeOf(nameOfRecord(record), field)}: expected ${expected}, came ${came}${sentAs}`;
  });
  const isAnyUnknown = problems.some(({ expected }) => expected === nothingKnown.expected);
  const known = isAnyUnknown ? ` GET /v1/models/${modelId} lists the model's fields.` : '';
  return new ApiError(
    'refusedRequest',
    `${described.join('; ')}${more}.${known} Nothing of the call was counted.`,
  );
}

/** `records[17].annual_revenue`, or `records[17]["Annual Revenue"]` where the name is no identifier. */
function placeOf(record: string, field: string): string {
  if (field === '') return record;
  return /^[A-Za-z_$][\w$]*$/.test(field) ? `${record}.${field}` : `${record}[${JSON.stringify(field)}]`;
}

const asSent = (name: string | undefined): string =>
  name === undefined ? '' : ` (sent as ${shownName(name)})`;

/**
 * The names that a record has, with what is not a plain value: a tool's form that is not understood has its fields within
 * one of these. A loop that ends early: a record may have a hundred thousand.
 */
function namesIn(fields: Readonly<Record<string, unknown>>): string {
  const names: string[] = [];
  for (const name in fields) {
    if (names.length === maxSentNames) return ` (it has ${names.join('; ')}; and others)`;
    const value = fields[name];
    const kind = Array.isArray(value) ? ', a list' : typeof value === 'object' && value ? ', an object' : '';
    names.push(`${shownName(name)}${kind}`);
  }
  return names.length === 0 ? ' (it is empty)' : ` (it has ${names.join('; ')})`;
}

const shownName = (name: string): string =>
  JSON.stringify(name.length > maxSentName ? `${name.slice(0, maxSentName - 1)}…` : name);
