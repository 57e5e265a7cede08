/*
 * Sizes, versions and the limits of the trial of a bundle, each with its reason. The limits of its texts are in the
 * manifest's schema. `scripts/export/leadscore_export/bundle/limits.py` repeats those of the trial, and
 * `test/shared/bundle/limits.test.ts` compares the two.
 */

export const mebibyte = 1024 * 1024;

/** How large a bundle may be. Sizes are of the files themselves (after inflating), in bytes. */
export const bundleLimits = {
  totalBytes: 256 * mebibyte, // all entries together, including ignored ones
  manifestBytes: 8 * mebibyte, // the manifest's text must fit one MongoDB document of 16 MiB
  memberBytes: 64 * mebibyte, // any member but the manifest
  entries: 1000, // in an archive
};
export type BundleLimits = Readonly<typeof bundleLimits>;

/** The largest float32. A larger input would be infinite, and a linear model would answer NaN, 0 or 1. */
export const maxFloat32 = 3.4028234663852886e38;

/** Versions of the file format that onnxruntime-node 1.30 reads, and one that every release of the last years reads. */
export const irVersions = { min: 3, max: 13, advised: 10 } as const;

/**
 * Operator set versions that onnxruntime-node 1.30 runs, and one that converters and older releases know too. A file
 * that uses no operator of `ai.onnx` may import a version below 7 of it, as converters of tree models do.
 */
export const opsetVersions: ReadonlyMap<
  string,
  { readonly min: number; readonly max: number; readonly advised: number }
> = new Map([
  ['ai.onnx', { min: 7, max: 26, advised: 21 }],
  ['ai.onnx.ml', { min: 1, max: 5, advised: 3 }],
]);

/** How a model is tried before it is stored (`worker/bundle-checks/`). */
export const trialLimits = {
  /** Drawn rows: enough to show each kind of mistake that was seen, and run in milliseconds. */
  drawnRows: 32,
  /** Records of a large call of a worker. ONNX Runtime computes so many rows in another way than 32. */
  callRecords: 250,
  /** Two probabilities of one record may differ by this: float32 has 24 bits. Golden records may differ as much. */
  probability: 1e-6,
  /**
   * Two log-odds of one record may differ by this as well, because other machines add in another order. Linear models
   * were seen to differ by 1e-6; forests of 6,000 trees and networks of 512 neurons not at all. A model that mixes
   * records differs by 0.1 and more.
   */
  logOdds: 1e-4,
  /** The same for a graph that computes in float16, whose last bit is a thousandth. */
  halfProbability: 2e-3,
  halfLogOdds: 1e-2,
  /** A probability may be outside 0..1 by this: ten times 0.1 is 1.0000001 in float32. */
  beyondRange: 1e-4,
  /** Probabilities of a row add up to 1, and two logits to 0, within this, relative to the largest. */
  rowSum: 1e-3,
  /** A base rate from which a single logit that is 0 or more for all records is believed. */
  commonRate: 0.5,
  /** The rate of the best fifth (lift times base rate) may exceed 1 by this, because both are rounded. */
  topRate: 5e-3,
  /** The whole check of a bundle in its process, in ms. */
  checkMs: 2 * 60 * 1000,
} as const;
