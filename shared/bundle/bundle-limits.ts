const MEBIBYTE = 1024 * 1024;

/** How large a bundle may be. All sizes in bytes, of the files themselves (after inflating). */
export interface BundleLimits {
  /** All entries together, those that are ignored included. */
  readonly totalBytes: number;
  readonly manifestBytes: number;
  /** Any member but the manifest. */
  readonly memberBytes: number;
  /** Entries in an archive. */
  readonly entries: number;
}

/** The manifest's limit also keeps its text within one MongoDB document (16 MiB). */
export const BUNDLE_LIMITS: BundleLimits = {
  totalBytes: 256 * MEBIBYTE,
  manifestBytes: 8 * MEBIBYTE,
  memberBytes: 64 * MEBIBYTE,
  entries: 1000,
};

/** The largest float32: beyond it an input column would be infinite, and a linear model's answer NaN or certain. */
export const FLOAT32_MAX = 3.4028234663852886e38;

/** The largest ONNX file accepted unless told otherwise, in bytes. */
export const ONNX_LIMIT_BYTES = 64 * MEBIBYTE;

/**
 * A size for a message.
 * @param bytes size in bytes
 * @returns for example `64 MiB`, `1.5 MiB`, `12 bytes`
 */
export function sizeText(bytes: number): string {
  return bytes < MEBIBYTE ? `${bytes} bytes` : `${Math.round((bytes / MEBIBYTE) * 10) / 10} MiB`;
}
