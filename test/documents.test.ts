import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../shared/project-root.js';
import { callCli } from './scripts/cli/cli-call.js';
import { anchorsOf, codeWords, projectDocuments } from './support/sources/project-documents.js';
import { projectSources } from './support/sources/project-sources.js';

const contents = (path: string): string => readFileSync(projectFile(path), 'utf8');
const isThere = (path: string): boolean => existsSync(projectFile(path));
/** All that a pattern's first group finds in a text. */
const found = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group = '']) => group);

/**
 * Gives what was found, and asserts that it is not much less than there is: what a document says in other words than a
 * pattern knows would be held against nothing.
 */
function atLeast<T>(least: number, what: string, all: readonly T[]): readonly T[] {
  expect(all, what).to.have.length.of.at.least(least);
  return all;
}

describe('what the documents name', () => {
  const documents = projectDocuments();
  const sources = projectSources();
  const product = sources
    .filter(({ path }) => !path.startsWith('test/'))
    .map(({ text }) => text)
    .join('\n');
  const documentOf = (path: string): string => {
    const document = documents.find((one) => one.path === path);
    if (document === undefined) throw new Error(`there is no ${path}`);
    return document.text;
  };
  /** What is found in every document, each with the document's path. */
  const inAll = <T>(find: (text: string) => readonly T[]): { path: string; one: T }[] =>
    documents.flatMap(({ path, text }) => find(text).map((one) => ({ path, one })));

  it('links lead somewhere', () => {
    const links = inAll((text) => [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)]);
    for (const { path, one } of atLeast(25, 'links', links)) {
      const [, target = '', anchor] = one;
      const file = target === '' ? path : posix.join(posix.dirname(path), target);
      expect(isThere(file), `${path}: ${target}`).to.equal(true);
      if (anchor !== undefined) expect(anchorsOf(contents(file)), `${path}: ${target}`).to.include(anchor);
    }
  });

  it('files and folders are there', () => {
    const isOfAnother = /^((dist|\.local)\/|(text|application)\/[\w-]+$)/;
    const named = inAll(codeWords).filter(
      ({ one }) => /^[\w.-]+(\/[\w.-]+)*\/?$/.test(one) && one.includes('/') && !isOfAnother.test(one),
    );
    for (const { path, one } of atLeast(50, 'files', named)) {
      const rooms = ['.', posix.dirname(path), 'api', 'worker', 'shared', 'scripts', 'test/faults'];
      const names = rooms.flatMap((room) =>
        ['', '.ts', '.test.ts'].map((ending) => posix.join(room, one) + ending),
      );
      expect(names.some(isThere), `${path}: ${one}`).to.equal(true);
    }
  });

  it('npm has the commands', () => {
    const { scripts } = JSON.parse(contents('package.json')) as { scripts: object };
    const named = inAll((text) => found(text, /\bnpm (?:--silent )?run (?:--silent )?([\w:]+)/g));
    for (const { path, one } of atLeast(20, 'commands', named)) expect(scripts, path).to.have.property(one);
  });

  it('the command line has the commands and their options', async () => {
    const command =
      /\bleadscore ((?:(?:org|key|model|usage|outcomes|validation) [a-z]+)|score)\b([^`\n|;#]*)/g;
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

  it('.env.example has the settings that are read, and no others; documents name no others', () => {
    const read = found(contents('shared/config.ts'), /(?:read\.\w+|this\.text)\(\s*'([A-Z][A-Z_]+)'/g);
    expect(found(contents('.env.example'), /^#?([A-Z][A-Z_]+)=/gm)).to.have.members([
      ...new Set(atLeast(15, 'settings that are read', read)),
    ]);
    const paths = [
      'README.md',
      'CHANGELOG.md',
      'docs/operating.md',
      'docs/security.md',
      'docs/reliability.md',
    ];
    const named = paths.flatMap((path) =>
      codeWords(documentOf(path)).flatMap((word) => found(word, /^([A-Z]+(?:_[A-Z]+)+)\b/g)),
    );
    const own = named.filter((name) => !name.startsWith('NODE_'));
    expect(read).to.include.members([...atLeast(18, 'settings that are named', own)]);
  });

  it('docs/operating.md has every metric of the service, and no others', () => {
    const named = codeWords(documentOf('docs/operating.md')).flatMap((word) =>
      found(word, /^(leadscore_\w+)/g),
    );
    const made = found(product, /name: '(leadscore_\w+)'/g);
    expect([...new Set(named)]).to.have.members([...atLeast(8, 'metrics', made)]);
  });

  it('docs/reliability.md names tests that are there, and lines that are logged', () => {
    const text = documentOf('docs/reliability.md');
    const rows = [...text.matchAll(/\| `([\w./-]+)`, `([^`]+)` \|$/gm)];
    for (const [row, file = '', title = ''] of atLeast(30, 'rows', rows)) {
      const source =
        sources.find(({ path }) => path === posix.join('test/faults', `${file}.test.ts`))?.text ?? '';
      const titles = found(source, /\b(?:it|describe)\(\s*(['"`].*)/g);
      // A title that is put together has its words in a list.
      const names = [...titles, ...found(source, /\[('\w+', '\w+')\]/g)];
      expect(
        names.some((name) => new RegExp(title.replace('$', '[\'"`]')).test(name)),
        row,
      ).to.equal(true);
    }
    const ofRedisAndItsClient = ['OOM command not allowed', "Stream isn't writeable"];
    const log = text.slice(text.indexOf('| the log says'), text.indexOf('## Random faults'));
    const told = found(log, /^\| `([^`]+)`/gm).filter((words) => !ofRedisAndItsClient.includes(words));
    for (const words of atLeast(6, 'lines', told)) expect(product).to.include(words);
  });
});
