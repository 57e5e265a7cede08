import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../shared/process/project-root.js';
import { callCli } from './scripts/cli/cli-call.js';
import { anchorsOf, codeWords, projectDocuments } from './support/sources/project-documents.js';
import { projectSources } from './support/sources/project-sources.js';

const contents = (path: string): string => readFileSync(projectFile(path), 'utf8');
/** Also in a clone without anything beside it: a path that leaves the project is never there. */
const isThere = (path: string): boolean => !path.startsWith('..') && existsSync(projectFile(path));
/** Every match of a pattern's first group. */
const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, group = '']) => group);

/** Asserts a minimum of matches: if a document changes its form, a pattern that matches nothing would pass silently. */
function atLeast<T>(min: number, name: string, matches: readonly T[]): readonly T[] {
  expect(matches, name).to.have.length.of.at.least(min);
  return matches;
}

describe('a project document', () => {
  const documents = projectDocuments();
  const sources = projectSources();
  const product = sources
    .filter(({ path }) => !path.startsWith('test/'))
    .map(({ text }) => text)
    .join('\n');
  const documentOf = (path: string): string => {
    const document = documents.find((one) => one.path === path);
    if (document === undefined) throw new Error(`document not found: ${path}`);
    return document.text;
  };
  /** The matches in all documents, each with its document's path. */
  const inAll = <T>(find: (text: string) => readonly T[]): { path: string; one: T }[] =>
    documents.flatMap(({ path, text }) => find(text).map((one) => ({ path, one })));

  it('links only to existing files and headings', () => {
    const links = inAll((text) => [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)]);
    for (const { path, one } of atLeast(25, 'links', links)) {
      const [, target = '', anchor] = one;
      const file = target === '' ? path : posix.join(posix.dirname(path), target);
      expect(isThere(file), `${path}: ${target}`).to.equal(true);
      if (anchor !== undefined) expect(anchorsOf(contents(file)), `${path}: ${target}`).to.include(anchor);
    }
  });

  it('names only existing files and folders', () => {
    // Build outputs, local data and media types are not files of the repository.
    const isIgnored = /^((dist|\.local)\/|(text|application)\/[\w-]+$)/;
    const named = inAll(codeWords).filter(
      ({ one }) => /^[\w.-]+(\/[\w.-]+)*\/?$/.test(one) && one.includes('/') && !isIgnored.test(one),
    );
    for (const { path, one } of atLeast(50, 'files', named)) {
      const folders = ['.', posix.dirname(path), 'api', 'worker', 'shared', 'scripts', 'test/faults'];
      const names = folders.flatMap((folder) =>
        ['', '.ts', '.test.ts', '.full.test.ts'].map((ending) => posix.join(folder, one) + ending),
      );
      expect(names.some(isThere), `${path}: ${one}`).to.equal(true);
    }
  });

  it('names only npm scripts that package.json has', () => {
    const { scripts } = JSON.parse(contents('package.json')) as { scripts: object };
    const named = inAll((text) => found(text, /\bnpm (?:--silent )?run (?:--silent )?([\w:]+)/g));
    for (const { path, one } of atLeast(20, 'commands', named)) expect(scripts, path).to.have.property(one);
  });

  it('names only leadscore commands and options that --help lists', async () => {
    const command = /\bleadscore ((?:(?:org|key|model|usage|outcomes|validation|job) [a-z]+)|score)\b([^`\n|;#]*)/g;
    const calls = inAll((text) => [...text.matchAll(command)]);
    let options = 0;
    for (const { path, one } of atLeast(20, 'calls', calls)) {
      const [call, name = '', rest = ''] = one;
      const { stdout } = await callCli([...name.split(' '), '--help']);
      expect(stdout, `${path}: ${call}`).to.include(`Usage: leadscore ${name} `);
      for (const option of found(rest, /(--[a-z][a-z-]*)/g)) {
        options += 1;
        expect(stdout, `${path}: ${call}`).to.match(new RegExp(`${option}\\b`));
      }
    }
    expect(options, 'options').to.be.at.least(10);
  });

  it('names no command with an option that npx takes for itself', () => {
    // Without "--", `npx --no leadscore --help` prints the help of npx.
    const calls = inAll((text) => found(text, /(npx (?:--?[a-z-]+ )*leadscore[^`\n|]*)/g));
    for (const { path, one } of atLeast(20, 'calls', calls)) {
      const [, options = ''] = /^npx ((?:--?[a-z-]+ )*)leadscore/.exec(one) ?? [];
      if (options !== '') expect(options, `${path}: ${one}`).to.match(/-- $/);
    }
  });

  it('names only settings that the configuration reads, and lists all of them in .env.example', () => {
    const config = sources.find(({ path }) => /^shared\/(config\/)?config\.ts$/.test(path))?.text ?? '';
    const read = found(config, /(?:read|this)\.\w+\(\s*'([A-Z][A-Z_]+)'/g);
    expect(found(contents('.env.example'), /^#?([A-Z][A-Z_]+)=/gm)).to.have.members([
      ...new Set(atLeast(15, 'settings that are read', read)),
    ]);
    const paths = ['README.md', 'CHANGELOG.md', 'docs/operating.md', 'docs/security.md', 'docs/reliability.md'];
    const named = paths.flatMap((path) =>
      codeWords(documentOf(path)).flatMap((word) => found(word, /^([A-Z]+(?:_[A-Z]+)+)\b/g)),
    );
    const own = named.filter((name) => !name.startsWith('NODE_'));
    expect(read).to.include.members([...atLeast(18, 'settings that are named', own)]);
  });

  it('lists exactly the metrics of the service in docs/operating.md', () => {
    const named = codeWords(documentOf('docs/operating.md')).flatMap((word) => found(word, /^(leadscore_\w+)/g));
    const made = found(product, /name: '(leadscore_\w+)'/g);
    expect([...new Set(named)]).to.have.members([...atLeast(8, 'metrics', made)]);
  });

  it('quotes only existing tests and log lines in docs/reliability.md', () => {
    const text = documentOf('docs/reliability.md');
    const rows = [...text.matchAll(/\| `([\w./-]+)`, `([^`]+)` \|$/gm)];
    for (const [row, file = '', title = ''] of atLeast(30, 'rows', rows)) {
      const path = posix.join('test/faults', `${file}.test.ts`);
      const source = sources.find((each) => each.path === path)?.text ?? '';
      const titles = found(source, /\b(?:it|itInFull|describe)\(\s*(['"`].*)/g);
      // Tests made in a loop take the words of their titles from a list.
      const names = [...titles, ...found(source, /\[('\w+', '\w+')\]/g)];
      expect(
        names.some((name) => new RegExp(title.replace('$', '[\'"`]')).test(name)),
        row,
      ).to.equal(true);
    }
    const logLinesOfRedis = ['OOM command not allowed', "Stream isn't writeable"];
    const log = text.slice(text.indexOf('| the log says'), text.indexOf('## Random faults'));
    const quoted = found(log, /^\| `([^`]+)`/gm).filter((words) => !logLinesOfRedis.includes(words));
    for (const words of atLeast(6, 'lines', quoted)) expect(product).to.include(words);
  });

  it('lists the terms of docs/glossary.md in alphabetical order', () => {
    const terms = found(documentOf('docs/glossary.md'), /^\| ([A-Za-z -]+) \|/gm).filter((term) => term !== 'term');
    const sorted = terms.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
    expect(atLeast(25, 'terms', terms)).to.deep.equal(sorted);
  });
});
