import { BundleError } from '../../shared/bundle/bundle-error.js';
import { GOLDEN_FILE } from '../../shared/bundle/bundle-files.js';
import type { CheckedBundle } from '../../shared/bundle/check-bundle.js';
import { type GoldenRecord, parseGolden } from '../../shared/bundle/golden.js';
import { compileModel, type LoadedModel } from '../../worker/loaded-model.js';
import { contributionDifferences, contributionTolerance } from './golden-contributions.js';

/** How far `raw` may be from what the author wrote: ONNX differs in the last bits between batch sizes and machines. */
const rawTolerance = 1e-6;

/** Records that go through the model at once, as in the service. */
const batchRecords = 250;

/** How the answers of a bundle's golden records compare with those that its author expects. */
export interface GoldenComparison {
  readonly records: number;
  /** Largest difference of the raw probability; undefined when no record says one. */
  readonly largestRawDifference: number | undefined;
  /** Largest difference of a field's contribution; undefined when no record says one. */
  readonly largestContributionDifference: number | undefined;
  readonly scoreMismatches: number;
  readonly likelihoodMismatches: number;
  /** What differs, one sentence a record, the first ten. */
  readonly differences: readonly string[];
  /** Whether everything is within tolerance. */
  readonly passed: boolean;
}

/**
 * Scores a bundle's golden records with the very code that serves calls, and compares.
 * @param bundle one that has been checked
 * @param nowMs the time of the request for records that do not say theirs (`now`, ISO 8601), in ms
 * @returns undefined when the bundle has no golden records
 * @throws BundleError when a record cannot be featurized; ModelUnavailable when ONNX does not run the model
 */
export async function compareWithGolden(
  bundle: CheckedBundle,
  { nowMs }: { readonly nowMs: number },
): Promise<GoldenComparison | undefined> {
  if (bundle.golden === undefined) return undefined;
  const records = parseGolden(bundle.golden);
  const model = await compileModel(bundle.manifest, bundle.onnx, { explainFiles: async () => bundle });
  try {
    const comparison = new Comparison(model);
    for (let start = 0; start < records.length; start += batchRecords) {
      const batch = records.slice(start, start + batchRecords);
      const rows = inputRows(model, batch, { start, nowMs });
      const raw = await model.session.run(rows, batch.length);
      comparison.add(batch, { raw, explained: await contributionDifferences(model, batch, rows) }, start);
    }
    return comparison.result(records.length);
  } finally {
    await model.session.release();
  }
}

function inputRows(
  { knownFields, featureRow }: LoadedModel,
  records: readonly GoldenRecord[],
  { start, nowMs }: { readonly start: number; readonly nowMs: number },
): Float32Array {
  const rows = new Float32Array(records.length * featureRow.width);
  for (const [index, golden] of records.entries()) {
    const problems = featureRow.write({
      cells: knownFields.pack(golden.record),
      nowMs: requestMs(golden) ?? nowMs,
      out: rows,
      offset: index * featureRow.width,
    });
    const [problem] = problems ?? [];
    if (problem !== undefined) {
      const { field, expected, came } = problem;
      const named =
        field === '' ? `record ${start + index + 1}` : `record ${start + index + 1}, field "${field}"`;
      throw new BundleError(GOLDEN_FILE, `${named}: expected ${expected}, but ${came} came`);
    }
  }
  return rows;
}

/** When the record was scored by its author: ages depend on it. */
function requestMs(golden: GoldenRecord): number | undefined {
  const now = 'now' in golden ? golden.now : undefined;
  const atMs = typeof now === 'string' ? Date.parse(now) : (now ?? Number.NaN);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Adds up what differs. */
class Comparison {
  private largestRawDifference: number | undefined;
  private largestContributionDifference: number | undefined;
  private scoreMismatches = 0;
  private likelihoodMismatches = 0;
  private readonly differences: string[] = [];

  constructor(private readonly model: LoadedModel) {}

  add(
    records: readonly GoldenRecord[],
    { raw, explained }: { readonly raw: Float64Array; readonly explained: readonly (number | undefined)[] },
    start: number,
  ): void {
    for (const [index, golden] of records.entries()) {
      const found = [
        ...this.compare(golden, raw[index] ?? Number.NaN),
        ...this.compareContributions(explained[index]),
      ];
      if (found.length > 0 && this.differences.length < 10)
        this.differences.push(`record ${start + index + 1}: ${found.join(', ')}`);
    }
  }

  result(records: number): GoldenComparison {
    const { largestRawDifference, largestContributionDifference } = this;
    const { scoreMismatches, likelihoodMismatches, differences } = this;
    // Not `<=` turned round: a NaN must not pass.
    const rawHolds = largestRawDifference === undefined || largestRawDifference <= rawTolerance;
    const contributionsHold =
      largestContributionDifference === undefined || largestContributionDifference <= contributionTolerance;
    return {
      records,
      largestRawDifference,
      largestContributionDifference,
      scoreMismatches,
      likelihoodMismatches,
      differences,
      passed: rawHolds && contributionsHold && scoreMismatches === 0 && likelihoodMismatches === 0,
    };
  }

  private compareContributions(difference: number | undefined): string[] {
    if (difference === undefined) return [];
    this.largestContributionDifference = Math.max(difference, this.largestContributionDifference ?? 0);
    return difference <= contributionTolerance ? [] : [`a contribution differs by ${difference}`];
  }

  private compare(golden: GoldenRecord, raw: number): string[] {
    const found: string[] = [];
    if (golden.raw !== undefined) {
      const difference = Math.abs(raw - golden.raw);
      const largest = this.largestRawDifference ?? 0;
      this.largestRawDifference = Math.max(difference, largest); // NaN stays
      if (!(difference <= rawTolerance)) found.push(`raw ${raw}, expected ${golden.raw}`);
    }
    const score = this.model.percentileScore(raw);
    if (golden.score !== undefined && score !== golden.score) {
      this.scoreMismatches += 1;
      found.push(`score ${score}, expected ${golden.score}`);
    }
    const likelihood = this.model.likelihood(raw) / 10_000;
    if (golden.conversion_likelihood !== undefined && likelihood !== golden.conversion_likelihood) {
      this.likelihoodMismatches += 1;
      found.push(`likelihood ${likelihood}, expected ${golden.conversion_likelihood}`);
    }
    return found;
  }
}

/**
 * Loads a model and runs one row through it, as a worker does.
 * @throws ModelUnavailable when ONNX does not take it
 */
export async function runsAtAll({ manifest, onnx }: CheckedBundle): Promise<void> {
  const model = await compileModel(manifest, onnx);
  await model.session.release();
}
