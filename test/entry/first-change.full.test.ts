import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';
import { applyDiff } from '../support/entry/apply-diff.js';
import { copySources, linkPackages, setUpLimitMs } from '../support/entry/fresh-clone.js';
import { markdownBlocks } from '../support/markdown-blocks.js';
import { runCommands } from '../support/run-program.js';

describe('docs/first-change.md', () => {
  let directory: string;
  const blocks = markdownBlocks(readFileSync(projectFile('docs/first-change.md'), 'utf8'));
  const fileOf = (heading: string): string => /`([^`]+)`$/.exec(heading)?.[1] ?? expect.fail(`no file in: ${heading}`);

  before(async function () {
    this.timeout(setUpLimitMs);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-first-change-'));
    await copySources(directory, []);
    await linkPackages(directory);
    await cp(projectFile('dist'), join(directory, 'dist'), { recursive: true });
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('has only changes of the file in the heading, the commands that check them, and the drawing', () => {
    const others = blocks.filter(({ language }) => language !== 'diff');
    expect(others.map(({ heading, language }) => `${heading} ${language}`)).to.deep.equal([
      'The path of the value ',
      'Check sh',
    ]);
    for (const { heading, language } of blocks) if (language === 'diff') fileOf(heading);
  });

  it('changes a copy of the project so that it compiles, and its tests and Biome pass', async function () {
    this.timeout(2 * setUpLimitMs);
    for (const { heading, language, text } of blocks) {
      if (language === 'diff') {
        const file = join(directory, fileOf(heading));
        await writeFile(file, applyDiff(await readFile(file, 'utf8'), text));
      } else if (language === 'sh') {
        const { exitCode, output } = await runCommands(text, { directory, limitMs: 2 * setUpLimitMs });
        expect(exitCode, output).to.equal(0);
        expect(output)
          .to.include('counts the fields that were filled in')
          .and.match(/^ +\d+ passing/m);
      }
    }
  });
});
