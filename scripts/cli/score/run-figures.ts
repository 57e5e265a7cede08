import { type MistakeGroup, withMistake } from '../outcomes/mistakes.js';
import { ScoreHistogram } from '../output/charts.js';
import type { ReplyUsage, ScoreRow } from './calls/api-reply.js';
import { crmIdOf } from './calls/refused-records.js';
import type { ScoredBatch } from './calls/score-batch.js';
import { withSummary } from './output/input-sums.js';
import type { RunFigures } from './progress/journal.js';

const maxGroups = 50; // bounds the journal: a reason may quote the row
const otherReasons = 'another reason, see the output';

/** Adds the figures of batches to those of the runs before. */
export class FigureSums {
  private readonly startMs = performance.now();
  private readonly histogram: ScoreHistogram;
  private readonly elapsedBeforeMs: number;

  constructor(private figures: RunFigures) {
    this.histogram = new ScoreHistogram(figures.histogram);
    this.elapsedBeforeMs = figures.elapsedMs;
  }

  /** Adds a batch. */
  with({ batch, outcomes, usage, validation, inputs }: ScoredBatch): RunFigures {
    const before = this.figures;
    let { records, enriched, warned, withCrmId, refused, mistakes } = before;
    for (const [index, outcome] of outcomes.entries()) {
      const record = batch.rows[index]?.record;
      if ('error' in outcome) {
        refused += 1;
        mistakes = withReason(mistakes, outcome.error, record?.line ?? 0);
        continue;
      }
      const { scored } = outcome;
      this.histogram.add(scored.score);
      records += 1;
      if (scored.enriched) enriched += 1;
      if ((scored.warnings ?? []).length > 0) warned += 1;
      if (hasCrmId(scored, batch.rows[index])) withCrmId += 1;
    }
    let { input } = before;
    for (const each of inputs) input = withSummary(input, each);
    this.figures = {
      records,
      emptyRows: before.emptyRows + batch.emptyRows,
      refused,
      mistakes,
      enriched,
      warned,
      withCrmId,
      histogram: this.histogram.toCounts(),
      elapsedMs: this.elapsedBeforeMs + (performance.now() - this.startMs),
      ...presentOnly({ usage: laterUsage(before.usage, usage), validation: validation ?? before.validation }),
      ...(input !== undefined && { input }),
    };
    return this.figures;
  }
}

function withReason(mistakes: readonly MistakeGroup[], reason: string, line: number): readonly MistakeGroup[] {
  const isKnown = mistakes.length < maxGroups || mistakes.some(({ what }) => what === reason);
  return withMistake(mistakes, { what: isKnown ? reason : otherReasons }, line);
}

/** A result that was read back from an output with the columns of the file has no crm_id of its own. */
const hasCrmId = (scored: ScoreRow, row: ScoredBatch['batch']['rows'][number] | undefined): boolean =>
  scored.crm_id !== undefined || (row?.held !== undefined && crmIdOf(row.record.text ?? '') !== undefined);

/** Replies arrive out of order, so the highest usage is the latest, unless a new month has started. */
function laterUsage(before: ReplyUsage | undefined, usage: ReplyUsage | undefined): ReplyUsage | undefined {
  if (before === undefined || usage === undefined) return usage ?? before;
  const monthEnded = usage.current < before.current / 2;
  return usage.current >= before.current || monthEnded ? usage : before;
}

function presentOnly({
  usage,
  validation,
}: {
  readonly usage: RunFigures['usage'] | undefined;
  readonly validation: RunFigures['validation'] | undefined;
}): Pick<RunFigures, 'usage' | 'validation'> {
  return { ...(usage === undefined ? {} : { usage }), ...(validation === undefined ? {} : { validation }) };
}

/** Rows of a batch whose scores earlier runs had kept. */
export function reusedScores({ batch, took, outcomes }: ScoredBatch): number {
  const taken = new Set(took);
  return batch.rows.filter(({ held }, index) => {
    const outcome = outcomes[index];
    return held !== undefined && taken.has(held.number) && outcome !== undefined && 'scored' in outcome;
  }).length;
}
