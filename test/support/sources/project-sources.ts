import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';
import { SourceFile } from './source-file.js';

const folders = ['api', 'worker', 'shared', 'scripts', 'test'];
const isSource = /\.(ts|tsx|mts|mjs|lua|py)$/;
/** The entries of .gitignore that can lie in these folders. */
const isIgnored = /(^|\/)(node_modules|__pycache__|\.venv)\/|\.log$/;

/** The paths of all files in the source folders, relative to the project's root, with forward slashes. */
export function projectPaths(): string[] {
  const root = projectFile('.');
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
      .filter((path) => !isIgnored.test(path))
      .sort(),
  );
}

/** Every source file of the project, in all languages. */
export function projectSources(): SourceFile[] {
  return projectPaths()
    .filter((path) => isSource.test(path))
    .map((path) => new SourceFile(path, readFileSync(projectFile(path), 'utf8')));
}
