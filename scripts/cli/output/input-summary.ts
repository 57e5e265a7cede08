import type { DateOrder } from '../../../shared/bundle/expected-values.js';
import { shortenedText } from '../../../shared/contract/texts.js';
import { member } from '../calls/api-reply.js';

/** One field of a summary of the input, as the service writes it. */
export interface SummedField {
  readonly field: string;
  /** Records that sent it with a value. */
  readonly sent: number;
  readonly unread: number;
  readonly unseen: number;
  /** Records whose date is another day in the other order of day and month. Only for a date with slashes. */
  readonly ambiguous?: number;
  readonly date_order?: DateOrder;
  /** The value that was expected, if one was not read. */
  readonly reason?: string;
  /** Absent in the summary of a job. */
  readonly examples?: readonly string[];
}

interface IgnoredName {
  readonly name: string;
  readonly records: number;
  readonly did_you_mean?: string;
}

/** How the fields of the records were read: `input_summary` of a reply, or the sum over many. */
export interface InputSums {
  readonly records: number;
  readonly fields: readonly SummedField[];
  readonly ignored: readonly IgnoredName[];
}

/** Bounds the sums over many calls. */
const [maxExamples, maxExample, maxNames] = [2, 40, 50];

/** The summary of a reply; undefined from a service that writes none, or in another form. */
export function readInputSummary(reply: unknown): InputSums | undefined {
  const summary = member(reply, 'input_summary');
  const [fields, ignored] = [member(summary, 'fields'), member(summary, 'ignored')];
  if (typeof member(summary, 'records') !== 'number' || !Array.isArray(fields) || !Array.isArray(ignored))
    return undefined;
  const isNamed = (each: unknown, name: string): boolean => typeof member(each, name) === 'string';
  const hasExamples = (each: unknown): boolean => [undefined, true].includes(isListIn(each, 'examples'));
  const areKnown = fields.every((each) => isNamed(each, 'field') && hasExamples(each));
  return areKnown && ignored.every((each) => isNamed(each, 'name')) ? (summary as InputSums) : undefined;
}

/** Whether a member is a list; undefined without it. */
function isListIn(each: unknown, name: string): boolean | undefined {
  const value = member(each, name);
  return value === undefined ? undefined : Array.isArray(value);
}

/** Adds the summary of a further call. */
export function withSummary(sums: InputSums | undefined, summary: InputSums): InputSums {
  const fields = new Map((sums?.fields ?? []).map((each) => [each.field, each]));
  for (const each of summary.fields) fields.set(each.field, sumOf(fields.get(each.field), each));
  const ignored = new Map((sums?.ignored ?? []).map((each) => [each.name, each]));
  for (const each of summary.ignored) {
    const before = ignored.get(each.name);
    if (before === undefined && ignored.size >= maxNames) continue;
    ignored.set(each.name, { ...before, ...each, records: (before?.records ?? 0) + each.records });
  }
  return {
    records: (sums?.records ?? 0) + summary.records,
    fields: [...fields.values()],
    ignored: [...ignored.values()],
  };
}

function sumOf(
  before: SummedField | undefined,
  { field, sent, unread, unseen, ambiguous, date_order, reason, examples = [] }: SummedField,
): SummedField {
  const cut = examples.slice(0, maxExamples).map((each) => shortenedText(each, maxExample));
  const expected = reason ?? before?.reason;
  return {
    field,
    sent: sent + (before?.sent ?? 0),
    unread: unread + (before?.unread ?? 0),
    unseen: unseen + (before?.unseen ?? 0),
    ...(ambiguous !== undefined && { ambiguous: ambiguous + (before?.ambiguous ?? 0) }),
    ...(date_order !== undefined && { date_order }),
    ...(expected !== undefined && { reason: expected }),
    examples: [...new Set([...(before?.examples ?? []), ...cut])].slice(0, maxExamples),
  };
}
