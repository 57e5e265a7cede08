import { BundleError, refuseIfAny } from './bundle-error.js';
import { decodeUtf8, goldenFile } from './bundle-files.js';

/** One line of `golden.jsonl`: a record and the answers that the author expects. */
export interface GoldenRecord {
  /** The record as a caller sends it. */
  readonly record: Readonly<Record<string, unknown>>;
  /** Feature row before the cast to float32; null is NaN. */
  readonly x?: readonly (number | null)[];
  /** Probability of the positive class before calibration. */
  readonly raw?: number;
  readonly score?: number;
  readonly conversion_likelihood?: number;
  /** Log-odds by field. Null in the file means none. */
  readonly contributions?: Readonly<Record<string, number>>;
  /** Log-odds that the contributions start from. */
  readonly base?: number;
  /** Time of the request, as ISO 8601 or Unix ms: ages depend on it. */
  readonly now?: string | number;
}

/**
 * Reads `golden.jsonl`: one JSON object a line; blank lines are skipped.
 * @throws BundleError naming the lines that are not such an object
 */
export function parseGolden(bytes: Buffer): GoldenRecord[] {
  const records: GoldenRecord[] = [];
  const problems: string[] = [];
  for (const [index, line] of decodeUtf8(bytes, goldenFile).split('\n').entries()) {
    if (line.trim() === '') continue;
    const parsed = parseLine(line);
    if (typeof parsed === 'string') problems.push(`line ${index + 1} ${parsed}`);
    else records.push(parsed);
  }
  refuseIfAny(goldenFile, problems);
  if (records.length === 0) throw new BundleError(goldenFile, 'holds no record: add one, or remove the file');
  return records;
}

function parseLine(line: string): GoldenRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return `is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (!isObject(value) || !isObject(value.record)) return 'is not a JSON object with a "record" object';
  // A table of the author's may write null where a record has none.
  for (const key of ['contributions', 'base']) if (value[key] === null) delete value[key];
  for (const key of ['raw', 'score', 'conversion_likelihood', 'base']) {
    if (value[key] !== undefined && typeof value[key] !== 'number') return `has a "${key}" that is not a number`;
  }
  const { x, contributions, now } = value;
  if (x !== undefined && !(Array.isArray(x) && x.every((cell) => cell === null || typeof cell === 'number'))) {
    return 'has an "x" that is not a list of numbers and nulls';
  }
  if (
    contributions !== undefined &&
    !(isObject(contributions) && Object.values(contributions).every((part) => typeof part === 'number'))
  ) {
    return 'has "contributions" that are not an object of numbers';
  }
  if (now !== undefined && Number.isNaN(typeof now === 'number' ? now : Date.parse(String(now)))) {
    return 'has a "now" that is neither ISO 8601 nor Unix milliseconds';
  }
  return value as unknown as GoldenRecord;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
