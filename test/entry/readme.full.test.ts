import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../scripts/servers/server-process.js';
import { projectFile } from '../../shared/process/project-root.js';
import { freshClone, setUpLimitMs } from '../support/entry/fresh-clone.js';
import { anyPort, noServers, ownCache } from '../support/entry/settings.js';
import { StartedCommand } from '../support/entry/started-command.js';
import { jsonForm, markdownBlocks } from '../support/markdown-blocks.js';
import { runCommands } from '../support/run-program.js';
import { startTimeoutMs } from '../support/service/service.js';

/** Lines of shell blocks that do not run here, with the reason. */
const leftOut: Readonly<Record<string, string>> = { 'npm test': 'it runs this test' };

/** Placeholders of the document, and how what they stand for looks when a command prints it. */
const placeholders = {
  'org_...': /\borg_\w{8,}/,
  'mdl_...': /\bmdl_\w{8,}/,
  'leadscore_sk_...': /\bleadscore_sk_\w{8,}/,
};

describe('README.md', () => {
  let directory: string;
  let demo: StartedCommand;
  let environment: Readonly<Record<string, string | undefined>>;
  /** By placeholder, the id or key that a command has printed last. */
  const printed = new Map<string, string>();
  const markdown = readFileSync(projectFile('README.md'), 'utf8');
  const blocks = markdownBlocks(markdown);

  before(async function () {
    this.timeout(setUpLimitMs);
    directory = await freshClone();
    environment = { ...anyPort, ...noServers, ...ownCache(directory), PORT: String(await freePort()) };
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await demo?.stop();
  });

  /** Keeps what a command printed for each placeholder. */
  function note(output: string): void {
    for (const [placeholder, pattern] of Object.entries(placeholders)) {
      const id = pattern.exec(output)?.[0];
      if (id !== undefined) printed.set(placeholder, id);
    }
  }

  /** Runs a command of the document with the values that earlier ones printed, at the demo's port. */
  async function run(command: string): Promise<string> {
    let line = command.replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${environment.PORT}`);
    for (const placeholder of Object.keys(placeholders))
      line = line.replaceAll(placeholder, () => printed.get(placeholder) ?? expect.fail(`no ${placeholder} so far`));
    const key = { LEADSCORE_KEY: printed.get('leadscore_sk_...') };
    const options = { directory, environment: { ...environment, ...key }, limitMs: 2 * startTimeoutMs };
    const { exitCode, output } = await runCommands(line, options);
    expect(exitCode, `${command}\n${output}`).to.equal(0);
    for (const placeholder of /# .*\bprints (\S+)/.exec(command)?.slice(1) ?? [])
      expect(output, command).to.match(placeholders[placeholder as keyof typeof placeholders]);
    note(output);
    return output;
  }

  it('has only blocks that run here, their results, and the drawing of how it works', () => {
    const others = blocks.filter(({ language }) => !['sh', 'json'].includes(language));
    expect(others.map(({ heading }) => heading)).to.deep.equal(['How it works']);
    const headings = blocks.filter(({ language }) => language === 'sh').map(({ heading }) => heading);
    expect(headings).to.deep.equal(['Two commands', 'One call', 'Running it']);
  });

  it('runs its commands in order, with the ids that earlier ones print', async function () {
    this.timeout(6 * startTimeoutMs);
    for (const [index, { heading, language, text }] of blocks.entries()) {
      if (language !== 'sh') continue;
      if (heading === 'One call') {
        const result = blocks[index + 1];
        expect(result?.language).to.equal('json');
        const output = await run(text);
        expect(output, 'an object in one line').to.match(/^\{.*\}\n?$/);
        expect(jsonForm(JSON.parse(output))).to.deep.equal(jsonForm(JSON.parse(result?.text ?? '')));
        continue;
      }
      for (const line of text.trimEnd().split('\n')) {
        const command = line.replace(/ +#.*/, '');
        if (command in leftOut) continue;
        // The sections below this block need the demo with this option, as they say.
        if (command === 'npm run demo') await startDemo('npm run demo -- --keep');
        else await run(line);
      }
    }
  });

  /** Starts the demo that stays. */
  async function startDemo(command: string): Promise<void> {
    expect(markdown).to.include(`\`${command}\` keeps the service running and prints a key and a model id`);
    demo = new StartedCommand(['sh', '-c', `exec ${command}`], { directory, environment });
    await demo.prints(/Ctrl-C stops it\./, 2 * startTimeoutMs);
    note(demo.output);
  }

  it('names the file of leads that the demo writes, the column that identifies them, and the results', async () => {
    const sentence = /`npm run demo -- --keep` writes `([^`]+)`[^`]*Its column `([^`]+)` identifies\s+the\s+leads/;
    const [, file = '', column = ''] = sentence.exec(markdown) ?? expect.fail('the sentence has changed');
    const rows = async (name: string) => (await readFile(join(directory, name), 'utf8')).trimEnd().split('\n');
    const leads = await rows(file);
    expect(leads).to.have.length(4001);
    expect(leads[0]?.split(',')).to.include(column);
    const [, scored = ''] =
      /and then the scores into `([^`]+)`/.exec(markdown) ?? expect.fail('the results have no name');
    expect(await rows(scored)).to.have.length(4001);
  });

  it('stops the demo on Ctrl-C', async function () {
    this.timeout(startTimeoutMs);
    demo.interrupt();
    expect((await demo.ended).output).to.include('Stopped. Data, logs and files stay in');
  });
});
