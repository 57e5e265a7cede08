const mebibyte = 1024 * 1024;

/** How large a bundle may be. Sizes are of the files themselves (after inflating), in bytes. */
export interface BundleLimits {
  /** All entries together, including ignored ones. */
  readonly totalBytes: number;
  readonly manifestBytes: number;
  /** Any member but the manifest. */
  readonly memberBytes: number;
  /** Entries in an archive. */
  readonly entries: number;
}

export const bundleLimits: BundleLimits = {
  totalBytes: 256 * mebibyte,
  manifestBytes: 8 * mebibyte, // the manifest's text must fit one MongoDB document of 16 MiB
  memberBytes: 64 * mebibyte,
  entries: 1000,
};

/** The largest float32. A larger input would be infinite, and a linear model would answer NaN, 0 or 1. */
export const FLOAT32_MAX = 3.4028234663852886e38;

/** A size for a message: `64 MiB`, `1.5 MiB`, `12 bytes`. */
export function sizeText(bytes: number): string {
  return bytes < mebibyte ? `${bytes} bytes` : `${Math.round((bytes / mebibyte) * 10) / 10} MiB`;
}
