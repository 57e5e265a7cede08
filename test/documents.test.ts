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

describe('what the documents name', () => {
  const documents = projectDocuments();
  const sources = projectSources();
  const product = sources
    .filter(({ path }) => !path.startsWith('test/'))
    .map(({ text }) => text)
    .join('\n');
  const documentOf = (path: string): string => documents.find((one) => one.path === path)?.text ?? '';

  it('links lead somewhere', () => {
    for (const { path, text } of documents)
      for (const [, target = '', anchor] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
        const file = target === '' ? path : posix.join(posix.dirname(path), target);
        expect(isThere(file), `${path}: ${target}`).to.equal(true);
        if (anchor !== undefined) expect(anchorsOf(contents(file)), `${path}: ${target}`).to.include(anchor);
      }
  });

  it('files and folders are there', () => {
    const isOfAnother = /^((dist|\.local)\/|(text|application)\/[\w-]+$)/;
    for (const { path, text } of documents) {
      const rooms = ['.', posix.dirname(path), 'api', 'worker', 'shared', 'scripts', 'test/faults'];
      for (const word of codeWords(text)) {
        if (!/^[\w.-]+(\/[\w.-]+)*\/?$/.test(word) || !word.includes('/') || isOfAnother.test(word)) continue;
        const names = rooms.flatMap((room) =>
          ['', '.ts', '.test.ts'].map((ending) => posix.join(room, word) + ending),
        );
        expect(names.some(isThere), `${path}: ${word}`).to.equal(true);
      }
    }
  });

  it('npm has the commands', () => {
    const { scripts } = JSON.parse(contents('package.json')) as { scripts: object };
    for (const { path, text } of documents)
      for (const name of found(text, /\bnpm (?:--silent )?run (?:--silent )?([\w:]+)/g))
        expect(scripts, path).to.have.property(name);
  });

  it('the command line has the commands and their options', async () => {
    const calls = /\bleadscore ((?:(?:org|key|model|usage|outcomes|validation) [a-z]+)|score)\b([^`\n|;#]*)/g;
    for (const { path, text } of documents)
      for (const [call, command = '', rest = ''] of text.matchAll(calls)) {
        const { stdout } = await callCli([...command.split(' '), '--help']);
        expect(stdout, `${path}: ${call}`).to.include(`Usage: leadscore ${command} `);
        for (const option of found(rest, /(--[a-z][a-z-]*)/g))
          expect(stdout, `${path}: ${call}`).to.match(new RegExp(`${option}\\b`));
      }
  });

  it('.env.example has the settings that are read, and no others; documents name no others', () => {
    const read = found(contents('shared/config.ts'), /(?:read\.\w+|this\.text)\(\s*'([A-Z][A-Z_]+)'/g);
    expect(found(contents('.env.example'), /^#?([A-Z][A-Z_]+)=/gm)).to.have.members([...new Set(read)]);
    for (const path of [
      'README.md',
      'CHANGELOG.md',
      'docs/operating.md',
      'docs/security.md',
      'docs/reliability.md',
    ])
      expect(read, path).to.include.members(
        codeWords(documentOf(path)).flatMap((word) => found(word, /^([A-Z]+(?:_[A-Z]+)+)\b/g)),
      );
  });

  it('docs/operating.md has every metric of the service, and no others', () => {
    const named = codeWords(documentOf('docs/operating.md')).flatMap((word) =>
      found(word, /^(leadscore_\w+)/g),
    );
    const made = found(product, /name: '(leadscore_\w+)'/g);
    expect(named).to.include.members(made);
    expect(made).to.include.members(named);
  });

  it('docs/reliability.md names tests that are there, and lines that are logged', () => {
    const text = documentOf('docs/reliability.md');
    const rows = [...text.matchAll(/\| `([\w./-]+)`, `([^`]+)` \|$/gm)];
    expect(rows).to.have.length.of.at.least(30);
    for (const [row, file = '', title = ''] of rows) {
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
    const ofRedis = 'OOM command not allowed';
    const log = text.slice(text.indexOf('| the log says'), text.indexOf('## Random faults'));
    const told = found(log, /^\| `([^`]+)`/gm).filter((words) => words !== ofRedis);
    expect(told).to.have.length.of.at.least(6);
    for (const words of told) expect(product).to.include(words);
  });
});
