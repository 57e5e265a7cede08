import { ScoreHistogram } from '../../terminal/histogram.js';
import type { DemoDirectory } from './demo-directory.js';
import type { DemoOptions } from './demo-options.js';
import type { ScoredPass } from './score-pass.js';
import { biggestMovers, moves } from './show-movers.js';
import { lastUsage } from './show-usage.js';
import type { TourResult } from './tour-result.js';

/** The whole tour as one JSON document, for programs. */
export function tourDocument(
  result: TourResult,
  {
    options,
    directory,
    tookMs,
  }: { readonly options: DemoOptions; readonly directory: DemoDirectory; readonly tookMs: number },
): Record<string, unknown> {
  const { service, workspace, first, quality, second, moved } = result;
  const { url } = service;
  const histogram = new ScoreHistogram();
  for (const row of first.rows) histogram.add(row.score);
  return {
    records: options.records,
    seed: options.seed,
    kept: options.keep,
    seconds: seconds(tookMs),
    urls: { service: url, score: `${url}/v1/score`, docs: `${url}/docs`, ready: `${url}/readyz` },
    org_id: workspace.organisation._id,
    plan: workspace.organisation.plan,
    model_id: workspace.model._id,
    model_version: workspace.model.version,
    api_key: workspace.apiKey,
    first_pass: { ...passFigures(first), histogram: histogram.bins() },
    ranking: { synthetic: true, ...quality },
    second_pass: {
      ...passFigures(second),
      changed: moved.filter(({ change }) => change.what !== undefined).length,
      ...moves(moved),
      biggest_movers: biggestMovers(moved).map(({ row, change }) => ({
        crm_id: row.crm_id,
        previous_score: row.previous_score,
        score: row.score,
        delta: row.delta,
        sent: change.record,
      })),
    },
    usage: lastUsage(result),
    files: options.keep
      ? {
          leads: directory.file('leads'),
          scores: directory.file('scored'),
          changes: directory.file('changes'),
          rescored: directory.file('rescored'),
          gateway_log: directory.file('gatewayLog'),
          workers_log: directory.file('workersLog'),
        }
      : {},
  };
}

function passFigures({ rows, calls, elapsedMs, recordsPerSecond }: ScoredPass): Record<string, number> {
  return {
    records: rows.length,
    calls,
    seconds: seconds(elapsedMs),
    records_per_second: recordsPerSecond,
    enriched: rows.filter((row) => row.enriched).length,
    with_warnings: rows.filter((row) => (row.warnings ?? []).length > 0).length,
  };
}

const seconds = (durationMs: number): number => Math.round(durationMs) / 1000;
