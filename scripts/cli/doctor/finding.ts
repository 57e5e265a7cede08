import { readableBytes } from '../output/readable-numbers.js';

/** A mistake in an installation. */
export interface Finding {
  /** Stable, for programs. */
  readonly code: string;
  /** A sentence without its full stop. */
  readonly problem: string;
  /** Why it matters. */
  readonly harm: string;
  readonly remedy: string;
}

/** The result of some checks. */
export interface Checked {
  /** One line for a reader: the thing, and its state. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  readonly findings: readonly Finding[];
}

/** Below this share and this size at once, a disk is nearly full. */
const minFreeShare = 0.1;
const minFreeBytes = 20 * 2 ** 30;

/** Whether a disk is nearly full. */
export const isNearlyFull = (freeBytes: number, totalBytes: number): boolean =>
  totalBytes > 0 && freeBytes < minFreeBytes && freeBytes / totalBytes < minFreeShare;

/** `61.2 GiB of 251.9 GiB free`. */
export const freeText = (freeBytes: number, totalBytes: number): string =>
  `${readableBytes(freeBytes)} of ${readableBytes(totalBytes)} free`;

/** Whether a version such as `7.0.15` is older than a major release. */
export const isOlder = (version: string, major: number): boolean => Number.parseInt(version, 10) < major;
