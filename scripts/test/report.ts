import type { FileResult } from './group-process.js';

/** Counts of tests. */
export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Reported extends Totals {
  readonly name: string;
  readonly failures: string;
}

export function totalsOf(groups: readonly Totals[]): Totals {
  const sum = (count: (group: Totals) => number) => groups.reduce((total, group) => total + count(group), 0);
  return {
    passed: sum((group) => group.passed),
    failed: sum((group) => group.failed),
    skipped: sum((group) => group.skipped),
  };
}

/** `.ci/run` reads this form. */
export const totalsText = ({ passed, failed, skipped }: Totals): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** The failures of all processes again, under their names; empty without any. */
export const failuresText = (groups: readonly Reported[]): string =>
  groups.map(({ name, failures }) => (failures === '' ? '' : `\n== Failures: ${name}\n${failures}`)).join('');

/** More failed files than this have a common cause, and a second run would only take time. */
const mostRepeated = 20;

interface Finished {
  readonly results: Map<string, FileResult>;
}

/** The failed files that run a second time; none when a failure belongs to no file, or too many files failed. */
export function filesToRepeat(groups: readonly Finished[]): readonly string[] {
  const failed = groups.flatMap(({ results }) => [...results].filter(([, { failed }]) => failed > 0));
  const files = failed.map(([file]) => file);
  return files.includes('') || files.length > mostRepeated ? [] : files;
}

/**
 * Puts the second result of a file in the place of its first one, so that totals count each test once.
 * @returns a line about the file when it failed and then passed; undefined when it failed again
 */
export function replaceResult(groups: readonly Finished[], file: string, second: Finished): string | undefined {
  const group = groups.find(({ results }) => results.has(file));
  const first = group?.results.get(file);
  // A crash of the second process, or a failure in a root hook, stands under the empty name.
  const failedAgain = [...second.results.values()].some(({ failed }) => failed > 0);
  const result = second.results.get(file);
  if (group === undefined || first === undefined || result === undefined || failedAgain) return undefined;
  group.results.set(file, result);
  return `${file}: ${first.firstError ?? 'no message'}`;
}

/** Tests that failed and then passed alone; empty without any. `.ci/run` prints this heading again. */
export const flakyText = (lines: readonly string[]): string =>
  lines.length === 0 ? '' : `\nFlaky:\n${lines.map((line) => `  ${line}\n`).join('')}`;
