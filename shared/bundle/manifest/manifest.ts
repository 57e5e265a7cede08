/*
 * The types of a bundle's `manifest.json`, version 1 (see docs/models.md). A value of these types comes from
 * `checkManifest`, which proves the shape; do not construct one by hand.
 */

export interface Manifest {
  readonly schema_version: 1;
  /** Name of the score, for people. */
  readonly name: string;
  /** The author's version; (model, version) is immutable once imported. */
  readonly version: string;
  /** The validation gates grade `forward` models; `timing` models are exempt. */
  readonly family: ModelFamily;
  /** ISO 8601. */
  readonly trained_at: string;
  readonly onnx: OnnxReference;
  /** Number of input columns. */
  readonly width: number;
  readonly features: readonly Feature[];
  readonly calibration: Calibration;
  /** 101 ascending raw probabilities: percentiles 0..100 of out-of-fold scores. */
  readonly quantiles: readonly number[];
  /** Strings that mean missing, in addition to the built-in ones. */
  readonly missing_tokens?: readonly string[];
  readonly recency?: Recency;
  readonly explain?: Explain;
  readonly validation?: ValidationFacts;
}

export type ModelFamily = 'forward' | 'timing';

export interface OnnxReference {
  readonly file: string;
  /** 64 hexadecimal digits of either case. */
  readonly sha256: string;
  readonly input: string;
  readonly output: string;
  readonly kind: 'probability' | 'logit';
  readonly positive_class: number;
}

export type Calibration =
  | { readonly kind: 'identity' }
  | { readonly kind: 'platt'; readonly a: number; readonly b: number }
  | { readonly kind: 'isotonic'; readonly x: readonly number[]; readonly y: readonly number[] };

export interface Recency {
  readonly field: string;
  readonly max_age_days: number;
  /** Default 1. */
  readonly future_tolerance_days?: number;
}

export type Explain =
  | { readonly kind: 'tree'; readonly covers: string }
  | { readonly kind: 'linear'; readonly means: readonly number[] }
  | { readonly kind: 'baseline'; readonly values: readonly number[] };

interface ValidationFacts {
  readonly horizon_days?: number;
  readonly base_rate?: number;
  readonly holdout_top_lift?: number;
  /** ISO 8601: the model was trained on no later lead. A date alone includes the day. `trained_at` by default. */
  readonly data_until?: string;
}

interface FeatureBase {
  /** CRM field that the feature reads; several features may read the same one. */
  readonly field: string;
  readonly label: string;
  readonly aliases?: readonly string[];
  /** A record without a readable value for a required feature is refused. */
  readonly required?: boolean;
  /** Input columns that the feature fills, without `other_column` and `missing_column`. */
  readonly columns: readonly number[];
}

interface FilledIn extends FeatureBase {
  /** Column value when the field is missing; absent means NaN. */
  readonly impute?: number;
  readonly missing_column?: number;
}

export interface NumberFeature extends FilledIn {
  readonly type: 'number';
  /** For the unit `fraction`, a `%` sign divides by 100. */
  readonly unit?: string;
}

export interface BooleanFeature extends FilledIn {
  readonly type: 'boolean';
}

/** `impute` is for the ordinal encoding only. */
export interface CategoryFeature extends FilledIn {
  readonly type: 'category';
  readonly encoding: 'onehot' | 'ordinal';
  readonly categories: readonly string[];
  /** Maps a value in a record to its category. */
  readonly category_aliases?: Readonly<Record<string, string>>;
  /** One-hot only: column set to 1 for an unknown value. */
  readonly other_column?: number;
  /** Ordinal only: column value for an unknown category; absent means NaN. */
  readonly other_value?: number;
}

export interface MultiFeature extends FeatureBase {
  readonly type: 'multi';
  readonly categories: readonly string[];
  /** Default `;`. */
  readonly separator?: string;
}

export interface DateFeature extends FilledIn {
  readonly type: 'date';
  /** Order of day and month in dates with slashes; without it such dates are unreadable. */
  readonly date_order?: 'dmy' | 'mdy';
}

export type Feature = NumberFeature | BooleanFeature | CategoryFeature | MultiFeature | DateFeature;

/** Estimates the heap of a manifest and its compiled fields. Measured: 2 to 12 bytes for each character of its JSON. */
export const manifestBytes = (manifest: Manifest): number => 12 * JSON.stringify(manifest).length;
