import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';
import { copySources } from '../support/entry/fresh-clone.js';
import { notInstalled } from '../support/leave-out.js';
import { runProgram } from '../support/run-program.js';

const installLimitMs = 300_000;

/** The commands of the exporter as docs/models.md shows them, in an environment of their own. */
describe('the exporter in docs/models.md', () => {
  let parent: string;
  const markdown = readFileSync(projectFile('docs/models.md'), 'utf8');
  const command = (pattern: RegExp): string => pattern.exec(markdown)?.[1] ?? expect.fail(`no command: ${pattern}`);

  before(async () => {
    parent = await mkdtemp(join(tmpdir(), 'leadscore-exporter-'));
  });
  after(() => rm(parent, { recursive: true, force: true }));

  it('installs with pip, and prints the row of each golden record of the demo', async function () {
    this.timeout(2 * installLimitMs);
    const venv = join(parent, 'venv');
    const made = await runProgram('python3', ['-m', 'venv', venv], { limitMs: installLimitMs });
    if (made.exitCode !== 0)
      notInstalled(this, { reason: 'python3 makes no environment', remedy: 'install Python 3.10 or later with venv' });
    const directory = join(parent, 'clone'); // pip writes beside the sources
    await copySources(directory, ['test', 'docs', 'api', 'worker']);
    const run = (line: string) =>
      runProgram('sh', ['-c', `. ${venv}/bin/activate && ${line}`], { directory, limitMs: installLimitMs });

    const installed = await run(command(/`(pip install [^`]+)`/));
    if (/No matching distribution|Could not find a version|Connection|Network is unreachable/.test(installed.output))
      notInstalled(this, {
        reason: 'pip reaches no index with its packages',
        remedy: 'give pip a network or an index',
      });
    expect(installed.exitCode, installed.output).to.equal(0);

    const golden = (await readFile(projectFile('scripts/demo/bundle/golden.jsonl'), 'utf8')).trimEnd().split('\n');
    const rows = golden.map((line): { record: unknown; now: string; x: readonly unknown[] } => JSON.parse(line));
    const now = rows[0]?.now ?? '';
    const records = rows.filter((row) => row.now === now);
    expect(records).to.have.length.of.at.least(100);
    const file = join(parent, 'records.jsonl');
    await writeFile(file, records.map(({ record }) => `${JSON.stringify(record)}\n`).join(''));
    const line = command(/`(python -m leadscore_export [^`]+)`/)
      .replace('BUNDLE', 'scripts/demo/bundle')
      .replace('records.jsonl', file)
      .replace('ISO', now);
    const { exitCode, output } = await run(line);
    expect(exitCode, output).to.equal(0);
    const printed = output.trimEnd().split('\n');
    expect(printed.map((row) => JSON.parse(row))).to.deep.equal(records.map(({ x }) => x));
  });
});
