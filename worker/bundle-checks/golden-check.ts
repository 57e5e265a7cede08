import { BundleError } from '../../shared/bundle/bundle-error.js';
import { goldenFile } from '../../shared/bundle/bundle-files.js';
import type { CheckedBundle } from '../../shared/bundle/check-bundle.js';
import { type GoldenRecord, parseGolden } from '../../shared/bundle/golden.js';
import { trialLimits } from '../../shared/bundle/limits.js';
import type { CheckedModel, GoldenComparison, MeanContribution } from '../../shared/messages/bundle-check-job.js';
import { maxChunkRecords } from '../../shared/messages/score-job.js';
import { compileModel, type LoadedModel, ModelUnavailable } from '../models/loaded-model.js';
import { engineProblem } from './trial/engine-problem.js';
import { tryModel } from './trial/try-model.js';

/**
 * Compiles a bundle's model and its explanation like a worker, tries the model (see `tryModel`), and scores its golden
 * records. A model may crash or hang the process that runs it.
 * @param nowMs request time for records without `now` (ISO 8601), in ms
 * @throws BundleError when ONNX Runtime cannot run the model, when its trial fails, or when a golden record cannot be
 * featurized
 */
export async function runBundle(bundle: CheckedBundle, { nowMs }: { readonly nowMs: number }): Promise<CheckedModel> {
  const records = bundle.golden && parseGolden(bundle.golden);
  const model = await compiled(bundle);
  try {
    const notes = await tryModel(model, bundle);
    const golden = records && (await compareWithGolden(model, records, nowMs));
    const { explainer, fallbackReason } = await model.explanation();
    const contributions = await meanContributions(model, records ?? [], nowMs);
    return { golden, explainMethod: explainer.method, fallbackReason, contributions, notes };
  } finally {
    await model.session.release();
  }
}

async function compiled(bundle: CheckedBundle): Promise<LoadedModel> {
  const { manifest, onnx } = bundle;
  try {
    return await compileModel(manifest, onnx, { explainFiles: async () => bundle });
  } catch (error) {
    if (!(error instanceof ModelUnavailable)) throw error;
    throw new BundleError(manifest.onnx.file, engineProblem('ONNX Runtime does not run it', error.cause), {
      cause: error,
    });
  }
}

async function compareWithGolden(
  model: LoadedModel,
  records: readonly GoldenRecord[],
  nowMs: number,
): Promise<GoldenComparison> {
  const comparison = new Comparison(model);
  for (let start = 0; start < records.length; start += maxChunkRecords) {
    const batch = records.slice(start, start + maxChunkRecords);
    const rows = inputRows(model, batch, { start, nowMs });
    const raw = await model.session.run(rows, batch.length).catch((error: unknown) => {
      const doing = `ONNX Runtime does not run the golden records from ${start + 1} on`;
      throw new BundleError(model.manifest.onnx.file, engineProblem(doing, error), { cause: error });
    });
    comparison.add(batch, { raw, explained: await contributionDifferences(model, batch, rows) }, start);
  }
  return comparison.result(records.length);
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
      const named = field === '' ? `record ${start + index + 1}` : `record ${start + index + 1}, field "${field}"`;
      throw new BundleError(goldenFile, `${named}: expected ${expected}, got ${came}`);
    }
  }
  return rows;
}

/** The time at which the author scored the record, in ms. Age features depend on it. */
function requestMs(golden: GoldenRecord): number | undefined {
  const now = 'now' in golden ? golden.now : undefined;
  const atMs = typeof now === 'string' ? Date.parse(now) : (now ?? Number.NaN);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Collects differences over all batches. */
class Comparison {
  private maxRawDifference: number | undefined;
  private maxContributionDifference: number | undefined;
  private scoreMismatches = 0;
  private likelihoodMismatches = 0;
  private readonly differences: string[] = [];

  constructor(private readonly model: LoadedModel) {}

  add(
    records: readonly GoldenRecord[],
    {
      raw,
      explained,
    }: { readonly raw: Float64Array; readonly explained: readonly (ContributionDifference | undefined)[] },
    start: number,
  ): void {
    for (const [index, golden] of records.entries()) {
      const found = [...this.compare(golden, raw[index] ?? Number.NaN), ...this.compareContributions(explained[index])];
      if (found.length > 0 && this.differences.length < 10)
        this.differences.push(`record ${start + index + 1}: ${found.join(', ')}`);
    }
  }

  result(records: number): GoldenComparison {
    const { maxRawDifference, maxContributionDifference } = this;
    const { scoreMismatches, likelihoodMismatches, differences } = this;
    // `<=` is false for NaN, so a NaN fails. The negated `>` would let it pass.
    const rawAgrees = maxRawDifference === undefined || maxRawDifference <= trialLimits.probability;
    const contributionsAgree =
      maxContributionDifference === undefined || maxContributionDifference <= contributionTolerance;
    return {
      records,
      maxRawDifference,
      maxContributionDifference,
      scoreMismatches,
      likelihoodMismatches,
      differences,
      passed: rawAgrees && contributionsAgree && scoreMismatches === 0 && likelihoodMismatches === 0,
    };
  }

  private compareContributions(found: ContributionDifference | undefined): string[] {
    if (found === undefined) return [];
    const { field, difference, fallbackReason } = found;
    this.maxContributionDifference = Math.max(difference, this.maxContributionDifference ?? 0);
    if (difference <= contributionTolerance) return [];
    const method =
      fallbackReason === undefined ? '' : `; the model is explained by occlusion, because ${fallbackReason}`;
    return [`the contribution of "${field}" differs by ${difference}${method}`];
  }

  private compare(golden: GoldenRecord, raw: number): string[] {
    const found: string[] = [];
    if (golden.raw !== undefined) {
      const difference = Math.abs(raw - golden.raw);
      const largest = this.maxRawDifference ?? 0;
      this.maxRawDifference = Math.max(difference, largest); // Math.max keeps NaN
      if (!(difference <= trialLimits.probability)) found.push(`raw ${raw}, expected ${golden.raw}`);
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

/** More records hardly move the means. */
const maxMeanRecords = 200;

/** The mean contributions of the fields over the first golden records, strongest first. */
async function meanContributions(
  model: LoadedModel,
  golden: readonly GoldenRecord[],
  nowMs: number,
): Promise<MeanContribution[]> {
  const records = golden.slice(0, maxMeanRecords);
  if (records.length === 0) return [];
  const { explainer, fields } = await model.explanation();
  const rows = inputRows(model, records, { start: 0, nowMs });
  const found = await explainer.contributions({ rows, count: records.length });
  const width = fields.fields.length;
  const meanOf = (index: number, clamp: (value: number) => number): number => {
    const sum = records.reduce((total, _, record) => total + clamp(found[record * width + index] ?? 0), 0);
    return Number((sum / records.length).toPrecision(6));
  };
  const strength = ({ raises, lowers }: MeanContribution): number => raises - lowers;
  return fields.fields
    .map(({ field, label }, index) => ({
      ...{ field, label },
      raises: meanOf(index, (value) => Math.max(value, 0)),
      lowers: meanOf(index, (value) => Math.min(value, 0)),
    }))
    .sort((one, other) => strength(other) - strength(one));
}

/** Tolerance of a field's contribution. */
const contributionTolerance = 1e-4;

/** The field of a record whose contribution differs most from the expected one. */
interface ContributionDifference {
  readonly field: string;
  readonly difference: number;
  readonly fallbackReason: string | undefined;
}

/**
 * Compares the contributions of each record with the expected ones.
 * @param rows the records' input rows
 * @returns the largest difference of each record; undefined for records without expected contributions
 */
async function contributionDifferences(
  model: LoadedModel,
  records: readonly GoldenRecord[],
  rows: Float32Array,
): Promise<readonly (ContributionDifference | undefined)[]> {
  if (records.every(({ contributions }) => contributions === undefined)) return [];
  const { explainer, fields, fallbackReason } = await model.explanation();
  const found = await explainer.contributions({ rows, count: records.length });
  const count = fields.fields.length;
  const indexOf = new Map(fields.fields.map(({ field }, index) => [field, index]));
  return records.map(({ contributions }, record) => {
    if (contributions === undefined) return undefined;
    let largest = { field: '', difference: 0 };
    for (const [field, expected] of Object.entries(contributions)) {
      const index = indexOf.get(field);
      const contribution = index === undefined ? 0 : (found[record * count + index] ?? 0);
      const difference = Math.abs(contribution - expected);
      // The negated `<=` keeps NaN.
      if (!(difference <= largest.difference)) largest = { field, difference };
    }
    return { ...largest, fallbackReason };
  });
}
