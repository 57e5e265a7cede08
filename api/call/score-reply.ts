import { setImmediate as nextStep } from 'node:timers/promises';
import type { Context } from 'koa';
import { shortenedText } from '../../shared/contract/texts.js';
import type { ExplainedRows, ScoredPart } from '../../shared/messages/score-job.js';
import { type InputReport, inputReport } from './input/input-report.js';
import type { ScoredRows, ScoreOutcome, WriteReply } from './score-outcome.js';

const tenThousandths = 10_000;
const reasons = 3;
/** Characters of a value in a sentence. */
const maxValueInSentence = 100;

/** One driver, as workers write it. */
interface Driver {
  /** Index in the fields of the part. */
  readonly field: number;
  readonly contribution: number;
  readonly value: string;
  /** Whether the model has not seen the value. */
  readonly isUnseen: boolean;
  /** Whether the caller may not read the value, which is empty here. */
  readonly isHidden: boolean;
}

/**
 * Writes the members `drivers` and `top_reason_1..3` of a row. All members of a driver are text, because some CRMs
 * (Salesforce) cannot read members of mixed types.
 * @param explained of one part; undefined when the call does not ask to explain
 * @returns the members of a row of the part, each with a leading comma; empty without `explained`
 */
export function driverMembers(explained: ExplainedRows | undefined): (row: number) => string {
  if (explained === undefined) return () => '';
  const forms = explained.fields.map(([field, label]) => ({
    label,
    head: `{"field":${JSON.stringify(field)},"value":`,
    tail: `,"label":${JSON.stringify(label)}}`,
  }));
  return (row) => {
    const drivers = driversOf(explained, row);
    const written = drivers.flatMap(({ field, contribution, value }) => {
      const form = forms[field];
      if (form === undefined) return [];
      const number = (contribution / tenThousandths).toFixed(4);
      const direction = contribution < 0 ? 'negative' : 'positive';
      return `${form.head}${JSON.stringify(value)},"contribution":"${number}","direction":"${direction}"${form.tail}`;
    });
    let members = `,"drivers":[${written.join(',')}]`;
    for (const [rank, reason] of reasonsOf(drivers, explained.fields).entries())
      members += `,"top_reason_${rank + 1}":${JSON.stringify(reason)}`;
    return members;
  };
}

/** The sentences of `top_reason_1..3` of a row of a part; null where it has fewer drivers. */
export const topReasons = (explained: ExplainedRows, row: number): (string | null)[] =>
  reasonsOf(driversOf(explained, row), explained.fields);

const reasonsOf = (drivers: readonly Driver[], fields: ExplainedRows['fields']): (string | null)[] =>
  Array.from({ length: reasons }, (_, rank) => {
    const driver = drivers[rank];
    return driver === undefined ? null : reasonOf(driver, fields[driver.field]?.[1] ?? '');
  });

function driversOf(explained: ExplainedRows, row: number): Driver[] {
  const packed = explained.drivers[row] ?? [];
  const unseen = unseenIndexes(explained);
  const drivers: Driver[] = [];
  for (let at = 0; at + 2 < packed.length; at += 3) {
    const field = Number(packed[at]);
    const isHidden = explained.hidden?.has(row * explained.fields.length + field) ?? false;
    drivers.push({
      field,
      contribution: Number(packed[at + 1]),
      // Many JSON parsers refuse a lone surrogate, even escaped.
      value: isHidden ? '' : String(packed[at + 2]).toWellFormed(),
      isHidden,
      isUnseen: unseen.has(row * explained.fields.length + field),
    });
  }
  return drivers;
}

const unseenOf = new WeakMap<ExplainedRows, ReadonlySet<number>>();

/** The unseen drivers of a part, each as row times fields plus field. */
function unseenIndexes(explained: ExplainedRows): ReadonlySet<number> {
  const { unseen = [], fields } = explained;
  const known = unseenOf.get(explained) ?? new Set(unseen.map(([row, field]) => row * fields.length + field));
  unseenOf.set(explained, known);
  return known;
}

/** States a fact and the direction of the score. It never claims a cause. */
const reasonOf = (driver: Driver, label: string): string =>
  reasonText(`${label} ${stateOf(driver)}`, driver.contribution < 0);

/** A fact of a record with the direction of the score. */
export const reasonText = (fact: string, lowers: boolean): string =>
  `${fact} (${lowers ? 'lowers' : 'raises'} the score)`;

function stateOf({ value, isUnseen, isHidden }: Driver): string {
  if (isHidden) return 'has a stored value';
  if (value.trim() === '') return 'is missing';
  return `is ${shownValue(value)}${isUnseen ? ', which the model has not seen' : ''}`;
}

const shownValue = (value: string): string => shortenedText(value.trim().replace(/\s+/g, ' '), maxValueInSentence);

/**
 * Characters that are written or encoded in one step. They take some 5 ms. The main thread has such replies too: a
 * small body may name a thousand known leads, and ask for reasons.
 */
const stepCharacters = 512 * 1024;
const maxStepMs = 10;

/** The JSON of a 200, as text or in UTF-8. */
export interface SentReply {
  readonly body: string | Buffer;
  readonly isReplay: boolean;
}

/** Sends the JSON of a 200, with a header on a replay. Encodes a long text in steps. */
export async function sendReply(
  context: Pick<Context, 'set' | 'type' | 'body'>,
  { body, isReplay }: SentReply,
): Promise<void> {
  if (isReplay) context.set('Idempotent-Replayed', 'true');
  context.type = 'application/json';
  context.body = typeof body === 'string' && body.length > stepCharacters ? await encoded(body) : body;
}

async function encoded(text: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + stepCharacters;
    if (isHighSurrogate(text.charCodeAt(to - 1))) to += 1;
    pieces.push(Buffer.from(text.slice(from, to)));
    await nextStep();
  }
  return Buffer.concat(pieces);
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;

/** Name of the 0-1 likelihood. The contract before v1 called it `probability`. */
export type LikelihoodName = 'conversion_likelihood' | 'probability';

/**
 * Writes a V1ScoreResponse. Rows are concatenated from columns: an object for each record and `JSON.stringify` cost
 * twice as much.
 */
export function scoreReplyWriter(likelihoodName: LikelihoodName): WriteReply {
  // A stored reply is written twice, with different usage. Its rows are written once.
  const written = new WeakMap<ScoredRows, { readonly scores: string; readonly summary: string }>();
  const prepare = async ({ call, rows }: Pick<ScoreOutcome, 'call' | 'rows'>): Promise<void> => {
    const report = inputReport(call, rows);
    const steps: string[] = [];
    let step: string[] = [];
    let characters = 0;
    let beganMs = performance.now();
    for (const row of scoreRows({ call, rows, report }, likelihoodName)) {
      step.push(row);
      characters += row.length;
      // A report on a record of a model with many fields takes a millisecond, and is short.
      const isLong = report !== undefined && performance.now() - beganMs > maxStepMs;
      if (characters < stepCharacters && !isLong) continue;
      steps.push(step.join(','));
      step = [];
      characters = 0;
      await nextStep();
      beganMs = performance.now();
    }
    if (step.length > 0) steps.push(step.join(','));
    // Concatenation copies nothing; `join` would copy all of a long reply at once.
    const scores = steps.reduce((text, each) => `${text},${each}`);
    written.set(rows, { scores, summary: summaryMember(report) });
  };
  const write = (outcome: ScoreOutcome): string => {
    const { call, modelVersion, verdict, usage, notices } = outcome;
    const tail = {
      records_scored: call.records.length,
      cache_hits: matchedCount(outcome),
      usage,
      validation: verdict,
      ...(call.bucket === 'test' ? { test: true } : {}),
      ...noticesMember(notices),
    };
    const head = JSON.stringify({ model_id: call.modelId, model_version: modelVersion }).slice(0, -1);
    const { scores, summary = '' } = written.get(outcome.rows) ?? {};
    return `${head},"scores":[${scores}],${JSON.stringify(tail).slice(1, -1)}${summary}}`;
  };
  return Object.assign(write, { prepare });
}

/** The member `notices`; nothing without any. */
export const noticesMember = (notices: readonly string[]) => (notices.length === 0 ? {} : { notices });

/** The member `input_summary` with a leading comma; empty without a report. */
export const summaryMember = (report: InputReport | undefined): string =>
  report === undefined ? '' : `,"input_summary":${report.summary}`;

/** The rows of an outcome, each a V1ScoreRow as JSON, in the order of the call's records. */
export function* scoreRows(
  { call, rows, report }: Pick<ScoreOutcome, 'call' | 'rows'> & { readonly report?: InputReport | undefined },
  likelihoodName: LikelihoodName,
): Generator<string> {
  let record = 0;
  for (const part of rows.parts) {
    const warnings = new Map(part.warnings);
    const drivers = driverMembers(part.explained);
    for (let index = 0; index < part.scores.length; index += 1) {
      const { sentId, crmId: storedId, echo } = call.records[record] ?? {};
      const crmId = sentId ?? storedId ?? echo ?? null;
      const input = report?.ofRecord?.(record);
      record += 1;
      yield scoreRow(part, index, { crmId, warning: warnings.get(index), drivers, input, likelihoodName });
    }
  }
}

function scoreRow(
  part: ScoredPart,
  index: number,
  of: {
    readonly crmId: string | null;
    readonly warning: string | undefined;
    readonly drivers: (index: number) => string;
    readonly input: string | undefined;
    readonly likelihoodName: LikelihoodName;
  },
): string {
  const members = {
    score: part.scores[index] ?? 0,
    likelihood: (part.likelihoods[index] ?? 0) / tenThousandths,
    enriched: part.matched[index] === 1,
    crmId: of.crmId,
    previousScore: part.previous[index] ?? null,
    explained: of.drivers(index),
    warnings: of.warning === undefined ? [] : [of.warning],
    input: of.input,
  };
  return `{${rowMembers(members, of.likelihoodName)}}`;
}

/** A row of a reply or of the results of a bulk job. */
export interface ScoreRowMembers {
  readonly score: number;
  /** 0 to 1. */
  readonly likelihood: number;
  readonly enriched: boolean;
  readonly crmId: string | null;
  readonly previousScore: number | null;
  /** See `driverMembers`. */
  readonly explained: string;
  readonly warnings: readonly string[];
  /** JSON of the report on the record's fields. */
  readonly input?: string | undefined;
}

/** Writes the members of a V1ScoreRow as JSON, without braces. */
export function rowMembers(row: ScoreRowMembers, likelihoodName: LikelihoodName): string {
  const { score, previousScore } = row;
  let members = `"score":${score},"${likelihoodName}":${row.likelihood},"enriched":${row.enriched}`;
  if (row.crmId !== null) members += `,"crm_id":${JSON.stringify(row.crmId)}`;
  if (previousScore !== null) members += `,"previous_score":${previousScore},"delta":${score - previousScore}`;
  members += row.explained;
  if (row.warnings.length > 0) members += `,"warnings":${JSON.stringify(row.warnings)}`;
  if (row.input !== undefined) members += `,"input":${row.input}`;
  return members;
}

function matchedCount({ rows }: ScoreOutcome): number {
  let count = 0;
  for (const part of rows.parts) for (const matched of part.matched) count += matched;
  return count;
}
