import type { ScoredPart } from '../shared/score-job.js';
import type { ScoredRows } from './dispatch/dispatcher.js';
import { driverMembers } from './driver-members.js';
import type { ScoreOutcome, WriteReply } from './score-records.js';

/** What the 0-1 likelihood is called: `probability` in the contract before v1. */
export type LikelihoodName = 'conversion_likelihood' | 'probability';

/**
 * Writes a V1ScoreResponse. Rows are written by hand, from columns: building an object for each record first, to have it
 * turned into text, costs twice as much.
 */
export function scoreReplyWriter(likelihoodName: LikelihoodName): WriteReply {
  // A reply that is kept under an Idempotency-Key is written twice, with other usage; its rows once.
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
