import type { Context } from 'koa';
import type { ExplainedRows, ScoredPart } from '../../shared/messages/score-job.js';
import type { ScoredRows } from '../dispatch/dispatcher.js';
import type { Reply } from '../idempotency/idempotency.js';
import type { ScoreOutcome, WriteReply } from '../score-records.js';

const tenThousandths = 10_000;
const reasons = 3;
/** Characters of a value in a sentence. */
const maxValueInSentence = 100;

/** One driver, as workers write it. */
interface Driver {
  readonly place: number;
  readonly contribution: number;
  readonly value: string;
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
    const drivers = driversOf(explained.drivers[row] ?? []);
    const written = drivers.flatMap(({ place, contribution, value }) => {
      const form = forms[place];
      if (form === undefined) return [];
      const number = (contribution / tenThousandths).toFixed(4);
      const direction = contribution < 0 ? 'negative' : 'positive';
      return `${form.head}${JSON.stringify(value)},"contribution":"${number}","direction":"${direction}"${form.tail}`;
    });
    let members = `,"drivers":[${written.join(',')}]`;
    for (let rank = 0; rank < reasons; rank += 1) {
      const driver = drivers[rank];
      const reason = driver === undefined ? null : reasonOf(driver, forms[driver.place]?.label ?? '');
      members += `,"top_reason_${rank + 1}":${JSON.stringify(reason)}`;
    }
    return members;
  };
}

function driversOf(packed: readonly (number | string)[]): Driver[] {
  const drivers: Driver[] = [];
  for (let at = 0; at + 2 < packed.length; at += 3)
    drivers.push({
      place: Number(packed[at]),
      contribution: Number(packed[at + 1]),
      // Many JSON parsers refuse a lone surrogate, even escaped.
      value: String(packed[at + 2]).toWellFormed(),
    });
  return drivers;
}

/** States a fact and the direction of the score. It never claims a cause. */
function reasonOf({ contribution, value }: Driver, label: string): string {
  const state = value.trim() === '' ? 'is missing' : `is ${shortened(value)}`;
  return `${label} ${state} (${contribution < 0 ? 'lowers' : 'raises'} the score)`;
}

function shortened(value: string): string {
  const line = value.trim().replace(/\s+/g, ' ');
  if (line.length <= maxValueInSentence) return line;
  const kept = line.slice(0, maxValueInSentence - 1);
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}

/** Sends the JSON of a 200, with a header on a replay. */
export function sendReply(context: Context, { body, isReplay }: Reply): void {
  if (isReplay) context.set('Idempotent-Replayed', 'true');
  context.type = 'application/json';
  context.body = body;
}

/** Name of the 0-1 likelihood. The contract before v1 called it `probability`. */
export type LikelihoodName = 'conversion_likelihood' | 'probability';

/**
 * Writes a V1ScoreResponse. Rows are concatenated from columns: an object for each record and `JSON.stringify` cost
 * twice as much.
 */
export function scoreReplyWriter(likelihoodName: LikelihoodName): WriteReply {
  // A stored reply is written twice, with different usage. Its rows are written once.
  const written = new WeakMap<ScoredRows, string>();
  return (outcome) => {
    const { call, verdict, usage } = outcome;
    const tail = {
      records_scored: call.records.length,
      cache_hits: matchedCount(outcome),
      usage,
      validation: verdict,
      ...(call.bucket === 'test' ? { test: true } : {}),
    };
    const head = `{"model_id":${JSON.stringify(call.modelId)},"scores":[`;
    const rows = written.get(outcome.rows) ?? scoreRows(outcome, likelihoodName).join(',');
    written.set(outcome.rows, rows);
    return `${head}${rows}],${JSON.stringify(tail).slice(1)}`;
  };
}

/** The rows of an outcome, each a V1ScoreRow as JSON, in the order of the call's records. */
export function scoreRows({ call, rows }: ScoreOutcome, likelihoodName: LikelihoodName): string[] {
  const written: string[] = [];
  for (const part of rows.parts) {
    const warnings = new Map(part.warnings);
    const drivers = driverMembers(part.explained);
    for (let index = 0; index < part.scores.length; index += 1) {
      const crmId = call.records[written.length]?.crmId ?? null;
      written.push(scoreRow(part, index, { crmId, warning: warnings.get(index), drivers, likelihoodName }));
    }
  }
  return written;
}

function scoreRow(
  part: ScoredPart,
  index: number,
  of: {
    readonly crmId: string | null;
    readonly warning: string | undefined;
    readonly drivers: (index: number) => string;
    readonly likelihoodName: LikelihoodName;
  },
): string {
  const score = part.scores[index] ?? 0;
  const likelihood = (part.likelihoods[index] ?? 0) / 10_000;
  const previous = part.previous[index] ?? null;
  let row = `{"score":${score},"${of.likelihoodName}":${likelihood},"enriched":${part.matched[index] === 1}`;
  if (of.crmId !== null) row += `,"crm_id":${JSON.stringify(of.crmId)}`;
  if (previous !== null) row += `,"previous_score":${previous},"delta":${score - previous}`;
  row += of.drivers(index);
  if (of.warning !== undefined) row += `,"warnings":${JSON.stringify([of.warning])}`;
  return `${row}}`;
}

function matchedCount({ rows }: ScoreOutcome): number {
  let count = 0;
  for (const part of rows.parts) for (const matched of part.matched) count += matched;
  return count;
}
