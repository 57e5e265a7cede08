import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';
import { runProgram } from '../run-program.js';

const specifiers = /(?:\bfrom|\bimport|\bimport\()\s*['"](\.{1,2}\/[^'"]+\.js)['"]/g;

/** The compiled modules that run in a package, as paths from its root: the programs and all that they import. */
export function reachedModules(programs: readonly string[]): readonly string[] {
  const reached = new Set<string>();
  const waiting = [...programs];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    for (const [, specifier = ''] of readFileSync(projectFile(path), 'utf8').matchAll(specifiers)) {
      const target = relative(projectFile('.'), projectFile(join(dirname(path), specifier)));
      if (existsSync(projectFile(target))) waiting.push(target);
    }
  }
  return [...reached].sort();
}

/** The tarball of `npm pack`. */
export interface Tarball {
  readonly path: string;
  /** Paths inside the package. */
  readonly files: readonly string[];
}

/**
 * Packs this project as it is compiled now.
 * @param directory where the tarball goes
 */
export async function packProject(directory: string): Promise<Tarball> {
  // --ignore-scripts: `prepack` would compile the tests that run.
  const options = ['--ignore-scripts', '--json', '--pack-destination', directory];
  const { exitCode, output } = await runProgram('npm', ['pack', ...options], {
    directory: projectFile('.'),
    limitMs: 60_000,
  });
  if (exitCode !== 0) throw new Error(`npm pack failed (${exitCode}):\n${output}`);
  // npm 11 and later print an object by package name, earlier ones a list.
  const [packed] = Object.values<{ filename: string; files: readonly { path: string }[] }>(JSON.parse(output));
  if (packed === undefined) throw new Error(`npm pack printed no package:\n${output}`);
  return { path: join(directory, packed.filename), files: packed.files.map(({ path }) => path).sort() };
}
