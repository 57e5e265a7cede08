import { readdir } from 'node:fs/promises';
import { projectFile } from '../../shared/process/project-root.js';

/** Test files that one Mocha process runs. */
export interface TestGroup {
  readonly name: string;
  /** Paths as of `testFiles`. */
  readonly files: readonly string[];
}

/**
 * Folders of test/ by Mocha process; the first process has all others. Tests of a folder share servers and services, so
 * a folder is not divided. The longest processes stand first: a long one that begins last would run on beside an idle
 * core. `npm test -- --times` shows their times.
 */
const foldersOf = {
  units: [],
  faults: ['faults', 'deploys'],
  http: ['http'],
  programs: ['scripts', 'console', 'entry'],
  service: ['security', 'cluster', 'versions', 'overload', 'chaos'],
} as const;

/**
 * Tests that run after all others, without anything beside them: those that measure the machine, and those of deaths
 * during bulk jobs. Other tests would leave bulk workers next to no CPU, because their priority is the lowest.
 */
const runAlone =
  /^dist\/test\/(overload\/(flood\.full|attack(\.full)?)|chaos\/chaos(-on-cluster)?(\.full)?|faults\/bulk\/[^/]+)\.test\.js$/;

/** All compiled test files, as paths from the project's root, sorted. */
export async function testFiles(): Promise<readonly string[]> {
  const names = await readdir(projectFile('dist/test'), { recursive: true });
  return names
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => `dist/test/${name.replaceAll('\\', '/')}`)
    .sort();
}

/** Whether a test is too long for `npm test`: `npm run test:full` runs it. */
export const isFull = (file: string): boolean => file.endsWith('.full.test.js');

/** The test files whose path contains one of the patterns; a pattern may name the source or the compiled file. */
export function matchingTests(files: readonly string[], patterns: readonly string[]): readonly string[] {
  const texts = patterns.map((pattern) => pattern.replace(/^(\.\/)?(dist\/)?/, '').replace(/\.ts$/, '.js'));
  return files.filter((file) => texts.some((text) => file.includes(text)));
}

/**
 * Divides test files into stages, which run one after another. The groups of a stage run side by side, each in a
 * process.
 */
export function testGroups(files: readonly string[]): readonly (readonly TestGroup[])[] {
  const alone = files.filter((file) => runAlone.test(file));
  const groupOf = (file: string): string => {
    const folder = file.split('/')[2] ?? '';
    return Object.entries(foldersOf).find(([, folders]) => folders.some((name) => name === folder))?.[0] ?? 'units';
  };
  const beside = Object.keys(foldersOf).map((name) => ({
    name,
    files: files.filter((file) => !alone.includes(file) && groupOf(file) === name),
  }));
  return [beside, [{ name: 'alone', files: alone }]]
    .map((stage) => stage.filter((group) => group.files.length > 0))
    .filter((stage) => stage.length > 0);
}
