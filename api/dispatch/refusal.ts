import { ApiError } from '../../shared/contract/errors.js';
import type { Lane } from '../../shared/contract/lanes.js';
import { shortenedText } from '../../shared/contract/texts.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import {
  type ChunkReply,
  maxProblemsNamed,
  nothingKnown,
  type PartReply,
  type RecordProblem,
  type RefusedPart,
} from '../../shared/messages/score-job.js';
import type { SentNames } from '../../shared/messages/sent-names.js';
import type { ScoringCall } from '../call/scoring-call.js';

/** Characters of a caller's field name in a message. */
const maxSentName = 100;
/** Field names of a record in a message. */
export const maxSentNames = 5;

/**
 * The error for records that cannot be featurized. It names at most five problems, each with the caller's name of the
 * field where the model has another. For a record without any known field it lists the fields that were sent.
 */
export function refusal(
  parts: readonly RefusedPart[],
  { records, nameOfRecord, modelId }: Pick<ScoringCall, 'records' | 'nameOfRecord' | 'modelId'>,
  {
    knownFields,
    names,
  }: { readonly knownFields: Pick<KnownFields, 'keysOf' | 'slotNames'>; readonly names: SentNames },
): ApiError {
  const problems = parts.flatMap((part) => part.problems).slice(0, maxProblemsNamed);
  const count = parts.reduce((sum, part) => sum + part.problemCount, 0);
  const more = count > problems.length ? `; and ${count - problems.length} more` : '';
  const fieldsOf = (record: number) => records[record]?.fields ?? {};
  // One pass over each record: it may have ten thousand fields, and several problems.
  const refused = new Set(problems.map(({ record }) => record));
  const keysOf = new Map([...refused].map((record) => [record, knownFields.keysOf(fieldsOf(record), names)]));
  const described = problems.map(({ record, field, expected, came }) => {
    const key = keysOf.get(record)?.find((each, slot) => each !== undefined && knownFields.slotNames[slot] === field);
    const isUnknown = expected === nothingKnown.expected;
    const sentAs = isUnknown ? namesIn(fieldsOf(record)) : key === field ? '' : asSent(key);
    return `${pathOf(nameOfRecord(record), field)}: ${problemText({ expected, came })}${sentAs}`;
  });
  const isAnyUnknown = problems.some(({ expected }) => expected === nothingKnown.expected);
  const known = isAnyUnknown ? ` GET /v1/models/${modelId} lists the model's fields.` : '';
  return new ApiError('refusedRequest', `${described.join('; ')}${more}.${known} Nothing of the call was counted.`);
}

/** A problem without its path: `expected a number, came an object`. */
export const problemText = ({ expected, came }: Pick<RecordProblem, 'expected' | 'came'>): string =>
  `expected ${expected}, came ${came}`;

/** `records[17].annual_revenue`, or `records[17]["Annual Revenue"]` for a name that is no identifier. */
function pathOf(record: string, field: string): string {
  if (field === '') return record;
  return /^[A-Za-z_$][\w$]*$/.test(field) ? `${record}.${field}` : `${record}[${JSON.stringify(field)}]`;
}

const asSent = (name: string | undefined): string => (name === undefined ? '' : ` (sent as ${shownName(name)})`);

/** The names of a record, marked where a value is a list or an object. An unknown form of a tool nests its fields. */
function namesIn(fields: Readonly<Record<string, unknown>>): string {
  const named = Object.entries(fields)
    .slice(0, maxSentNames)
    .map(([name, value]) => {
      const kind = Array.isArray(value) ? ', a list' : typeof value === 'object' && value ? ', an object' : '';
      return `${shownName(name)}${kind}`;
    });
  if (named.length === 0) return ' (it is empty)';
  return ` (it has ${named.join('; ')}${Object.keys(fields).length > maxSentNames ? '; and others' : ''})`;
}

/** A caller's field name in a message: quoted, escaped and shortened. */
export const shownName = (name: string): string => JSON.stringify(shortenedText(name, maxSentName));

/** @throws ApiError internalError when the version could not score the chunk */
export function partsOf({ failure, parts }: ChunkReply): readonly PartReply[] {
  if (failure === undefined) return parts;
  throw new ApiError('internalError', 'The records could not be scored.', {
    cause: failure,
    retryAfterSeconds: 1,
  });
}

/** No answer came in time. */
export const unanswered = (cause: unknown): ApiError =>
  new ApiError('internalError', 'The records could not be scored in time.', { cause, retryAfterSeconds: 1 });

/** A pool that starts takes some seconds. */
const withoutWorkersSeconds = 5;

/** A lane has no worker process. */
export const withoutWorkers = (lane: Lane): ApiError =>
  new ApiError('internalError', 'The records could not be scored: the service has no scoring capacity now.', {
    cause: `no worker process of ${lane} is running: start a pool, or look for "a worker died" in its log`,
    retryAfterSeconds: withoutWorkersSeconds,
  });
