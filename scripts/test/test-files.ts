import { readdir } from 'node:fs/promises';
import { projectFile } from '../../shared/process/project-root.js';

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
