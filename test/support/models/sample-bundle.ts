import { createHash } from 'node:crypto';
import { BundleFiles, goldenFile, manifestFile } from '../../../shared/bundle/bundle-files.js';
import type { Feature, Manifest } from '../../../shared/bundle/manifest/manifest.js';
import { encodeOnnx, linearModel, type SampleModel, treeCovers, treeModel } from './sample-onnx.js';

export interface SampleOptions {
  readonly name?: string;
  readonly version?: string;
  readonly family?: Manifest['family'];
  /** Their columns must fill 0..width-1. Default: company_size, demo_requested, lead_source (6 columns). */
  readonly features?: readonly Feature[];
  /** `linear` (default): sigmoid(weights·x + intercept). `tree`: one tree on columns 0 and 1, with covers. */
  readonly model?: 'linear' | 'tree';
  /** One for each column of the linear model. */
  readonly weights?: readonly number[];
  readonly intercept?: number;
  /** Members of the manifest to set or replace. */
  readonly manifest?: Partial<Manifest>;
}

/** A bundle before it is packed. A test may change it. */
export interface SampleParts {
  manifest: Record<string, unknown> & { onnx: Record<string, unknown> };
  model: SampleModel;
  covers: Buffer | undefined;
  golden: Buffer | undefined;
}

export const sampleFeatures: readonly Feature[] = [
  { field: 'company_size', label: 'Company size', type: 'number', columns: [0], impute: 0 },
  { field: 'demo_requested', label: 'Demo requested', type: 'boolean', columns: [1], impute: 0 },
  {
    field: 'lead_source',
    label: 'Lead source',
    type: 'category',
    encoding: 'onehot',
    categories: ['Webinar', 'Referral'],
    category_aliases: { 'Web seminar': 'Webinar' },
    columns: [2, 3],
    other_column: 4,
    missing_column: 5,
  },
];

const sampleWeights: readonly number[] = [0.01, 1, 0.25, 0.75, -0.25, -0.5];
const sampleIntercept = -0.5;

/** A small valid bundle with a model that ONNX Runtime can run, in the form of `readBundle`. */
export function sampleBundle(options: SampleOptions = {}): BundleFiles {
  return packSample(sampleParts(options));
}

/** The parts of the same bundle, as plain objects. */
export function sampleParts(options: SampleOptions = {}): SampleParts {
  const features = options.features ?? sampleFeatures;
  const width = 1 + Math.max(...features.flatMap(columnsOf));
  const isTree = options.model === 'tree';
  const weights = options.weights ?? Array.from({ length: width }, (_, column) => sampleWeight(column));
  const intercept = options.intercept ?? sampleIntercept;
  const manifest: Omit<Manifest, 'onnx'> = {
    schema_version: 1,
    name: options.name ?? 'Sample score',
    version: options.version ?? '1.0.0',
    family: options.family ?? 'forward',
    trained_at: '2026-01-31T12:00:00Z',
    width,
    features,
    calibration: { kind: 'identity' },
    quantiles: Array.from({ length: 101 }, (_, percentile) => percentile / 100),
    explain: isTree ? { kind: 'tree', covers: 'covers.f32' } : { kind: 'linear', means: weights.map(() => 0) },
    validation: { horizon_days: 90, base_rate: 0.3, holdout_top_lift: 2 },
    ...options.manifest,
  };
  const onnx = { file: 'model.onnx', input: 'input', output: 'probabilities', kind: 'probability' };
  const isDefault = features === sampleFeatures && !isTree;
  return {
    // A copy, so that a test may change it.
    manifest: {
      ...structuredClone(manifest),
      onnx: { ...onnx, positive_class: 1, ...options.manifest?.onnx },
    },
    model: isTree ? treeModel(width) : linearModel(weights, intercept),
    covers: isTree ? Buffer.from(new Float32Array(treeCovers).buffer) : undefined,
    golden: isDefault ? sampleGolden(weights, intercept) : undefined,
  };
}

/**
 * Encodes the parts into files. The manifest's `onnx.sha256` is computed unless it is set.
 * @param parts from `sampleParts`
 */
export function packSample({ manifest, model, covers, golden }: SampleParts): BundleFiles {
  const onnx = encodeOnnx(model);
  const sha256 = createHash('sha256').update(onnx).digest('hex');
  const files = new BundleFiles();
  const text = JSON.stringify({ ...manifest, onnx: { sha256, ...manifest.onnx } }, undefined, 1);
  files.set(manifestFile, Buffer.from(text));
  files.set('model.onnx', onnx);
  if (covers !== undefined) files.set('covers.f32', covers);
  if (golden !== undefined) files.set(goldenFile, golden);
  return files;
}

function sampleGolden(weights: readonly number[], intercept: number): Buffer {
  const rows = [
    {
      record: { company_size: 120, demo_requested: 'yes', lead_source: 'web seminar' },
      x: [120, 1, 1, 0, 0, 0],
    },
    { record: { company_size: '35', lead_source: 'Fair' }, x: [35, 0, 0, 0, 1, 0] },
    { record: { demo_requested: false }, x: [0, 0, 0, 0, 0, 1] },
  ];
  const lines = rows.map(({ record, x }) => {
    const margin = x.reduce((sum, value, column) => sum + value * (weights[column] ?? 0), intercept);
    return JSON.stringify({ record, x, raw: 1 / (1 + Math.exp(-margin)) });
  });
  return Buffer.from(`${lines.join('\n')}\n`);
}

function sampleWeight(column: number): number {
  return sampleWeights[column % sampleWeights.length] ?? 0;
}

function columnsOf(feature: Feature): number[] {
  const other = 'other_column' in feature ? feature.other_column : undefined;
  const missing = 'missing_column' in feature ? feature.missing_column : undefined;
  return [...feature.columns, other ?? 0, missing ?? 0];
}
