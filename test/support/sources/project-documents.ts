import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';

/** A Markdown document of the project. */
export interface ProjectDocument {
  /** Relative to the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** All Markdown documents for users: at the root, in `docs/` and below `scripts/`. */
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

/** The inline code of a text: everything between two backticks on one line. */
export const codeWords = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word);

/** The anchors that GitHub makes of a Markdown text's headings. */
export const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
