import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';
import { SourceFile } from './source-file.js';

const rooms = ['api', 'worker', 'shared', 'scripts', 'test'];
const written = /\.(ts|mts|mjs|lua|py)$/;

/** Every source file of the project, in all rooms. */
export function projectSources(): SourceFile[] {
  const root = projectFile('.');
  return rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && written.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((file) => {
        const path = relative(root, file).replaceAll(sep, '/');
        return new SourceFile(path, readFileSync(file, 'utf8'));
      }),
  );
}
