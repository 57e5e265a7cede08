import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import { compileKnownFields, type KnownFields } from '../../shared/messages/field-slots.js';
import { compileExplanation, type ExplainFiles, type Explanation } from '../drivers/explainer.js';
import { compileFeatureRow, type FeatureRow } from '../feature-row/feature-row.js';
import { InferenceSession, type RunGuard } from './inference-session.js';
import { compileLikelihood } from './likelihood.js';
import { compilePercentileScore } from './percentile-score.js';
import { compileRecencyGuard, type RecencyGuard } from './recency-guard.js';

/** One version of a model, compiled for scoring. */
export interface LoadedModel {
  readonly manifest: Manifest;
  readonly knownFields: KnownFields;
  readonly featureRow: FeatureRow;
  readonly session: InferenceSession;
  /** Maps the raw probability to 0-100. */
  readonly percentileScore: (raw: number) => number;
  /** Maps the raw probability to ten-thousandths. */
  readonly likelihood: (raw: number) => number;
  readonly recencyGuard: RecencyGuard;
  /** Compiled at the first call. */
  readonly explanation: () => Promise<Explanation>;
}

/** The version is not stored, or ONNX cannot run it. */
export class ModelUnavailable extends Error {
  override name = 'ModelUnavailable';
}

export interface CompileOptions {
  readonly guard?: RunGuard;
  /** Reads the members that explaining needs; by default the ONNX file alone. */
  readonly explainFiles?: () => Promise<ExplainFiles>;
  /** Called with the reason when the model cannot be explained exactly, unless its manifest asks for occlusion. */
  readonly onFallback?: (reason: string) => void;
}

/**
 * Compiles a bundle that has been checked.
 * @throws ModelUnavailable when ONNX cannot load or run the graph
 */
export async function compileModel(
  manifest: Manifest,
  onnx: Uint8Array,
  { guard, explainFiles = async () => ({ onnx }), onFallback }: CompileOptions = {},
): Promise<LoadedModel> {
  const knownFields = compileKnownFields(manifest);
  let session: InferenceSession;
  try {
    session = await InferenceSession.load(onnx, { reference: manifest.onnx, width: manifest.width, guard });
  } catch (error) {
    throw new ModelUnavailable(`ONNX does not run ${manifest.name} ${manifest.version}`, { cause: error });
  }
  const newFeatureRow = () => compileFeatureRow(manifest, knownFields);
  const runnable = { manifest, knownFields, session, featureRow: newFeatureRow() };
  return {
    ...runnable,
    explanation: once(async () => {
      // A feature row of its own: unreadable cells of golden records must not count as those of calls.
      const explained = { ...runnable, featureRow: newFeatureRow() };
      const explanation = await compileExplanation(explained, await explainFiles());
      const { fallbackReason } = explanation;
      if (fallbackReason !== undefined && manifest.explain?.kind !== 'baseline') onFallback?.(fallbackReason);
      return explanation;
    }),
    percentileScore: compilePercentileScore(manifest.quantiles),
    likelihood: compileLikelihood(manifest),
    recencyGuard: compileRecencyGuard(manifest, knownFields),
  };
}

/** Does the work at the first call, and again only after a failure. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let done: Promise<Result> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
