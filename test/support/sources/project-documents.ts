import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { projectFile } from '../../../shared/project-root.js';

/** A Markdown document of the project. */
export interface ProjectDocument {
  /** From the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every document that readers are sent to: those at the root, in `docs/`, and beside the scripts. */
export function projectDocuments(): ProjectDocument[] {
  const root = projectFile('.');
  const below = ['docs', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/')),
  );
  return ['README.md', 'CHANGELOG.md', ...below.sort()].map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }));
}

/** What stands between backticks on one line of a text. */
export const codeWords = (text: string): string[] =>
  [...text.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word);

/** Under which names a browser finds the headings of a Markdown text. */
export const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
