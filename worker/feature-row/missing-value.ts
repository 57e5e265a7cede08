import { foldedText } from '../../shared/normal-text.js';

/** What reading one cell for one feature came to. */
export const READ = 0;
/** Sent, but one of the texts that mean missing. */
export const MISSING = 1;
/** A scalar that makes no sense for the feature's type: treated as missing, and counted. */
export const UNREADABLE = 2;
export type Reading = typeof READ | typeof MISSING | typeof UNREADABLE;

/**
 * No reader gives an infinite number, so the infinities stand for what is not a value:
 * a reader answers a finite number or one of these two.
 */
export const MISSING_VALUE = Number.POSITIVE_INFINITY;
export const UNREADABLE_VALUE = Number.NEGATIVE_INFINITY;

const ALWAYS_MISSING = ['', 'null', 'none', 'n/a', 'na', '-'];

/**
 * The texts that mean missing to one model, folded (see `foldedText`).
 * @param furtherTokens `missing_tokens` of the manifest
 */
export function compileMissingTexts(furtherTokens: readonly string[] = []): ReadonlySet<string> {
  return new Set([...ALWAYS_MISSING, ...furtherTokens].map(foldedText));
}

/** The reading that a reader's answer amounts to. */
export function readingOf(value: number): Reading {
  if (value === MISSING_VALUE) return MISSING;
  return value === UNREADABLE_VALUE ? UNREADABLE : READ;
}
