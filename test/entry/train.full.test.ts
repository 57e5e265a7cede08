import { readFileSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../scripts/servers/server-process.js';
import { projectFile } from '../../shared/process/project-root.js';
import { installLimitMs, realPython, trainingLimitMs } from '../scripts/cli/train/real-python.js';
import { freshClone, setUpLimitMs } from '../support/entry/fresh-clone.js';
import { anyPort, noServers, ownCache } from '../support/entry/settings.js';
import { StartedCommand } from '../support/entry/started-command.js';
import { markdownBlocks } from '../support/markdown-blocks.js';
import { runCommands } from '../support/run-program.js';
import { startTimeoutMs } from '../support/service/service.js';

/** Placeholders of the document, and how the ids that they stand for look when a command prints them. */
const placeholders = {
  'org_...': /\borg_\w{8,}/,
  'mdl_...': /\bmdl_\w{8,}/,
  'leadscore_sk_...': /\bleadscore_sk_\w{8,}/,
};

describe('docs/train.md', () => {
  const blocks = markdownBlocks(readFileSync(projectFile('docs/train.md'), 'utf8'));
  const printed = new Map<string, string>();
  let demo: StartedCommand | undefined;
  after(async function () {
    this.timeout(startTimeoutMs);
    await demo?.stop();
  });

  it('goes from nothing to a score over HTTP by its commands', async function () {
    this.timeout(installLimitMs + setUpLimitMs + trainingLimitMs + 4 * startTimeoutMs);
    await realPython(this);
    const directory = await freshClone();
    // The environment of this project: another download would take minutes.
    await mkdir(join(directory, '.local'), { recursive: true });
    await rm(join(directory, '.local/venvs'), { recursive: true, force: true });
    await symlink(projectFile('.local/venvs'), join(directory, '.local/venvs'));
    const port = String(await freePort());
    const environment = { ...anyPort, ...noServers, ...ownCache(directory), PORT: port };
    const run = async (command: string): Promise<string> => {
      let line = command.replace(/ +#.*/, '').replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${port}`);
      for (const placeholder of Object.keys(placeholders))
        line = line.replaceAll(placeholder, () => printed.get(placeholder) ?? expect.fail(`no ${placeholder} so far`));
      const options = { directory, environment, limitMs: trainingLimitMs };
      const { exitCode, output } = await runCommands(line, options);
      expect(exitCode, `${command}\n${output}`).to.equal(0);
      for (const named of /# .*\bprints (\S+)/.exec(command)?.slice(1) ?? []) {
        const id = placeholders[named as keyof typeof placeholders].exec(output)?.[0];
        printed.set(named, id ?? expect.fail(`${command} prints no ${named}`));
      }
      return output;
    };

    const [start, commands, call] = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
    demo = new StartedCommand(['sh', '-c', `exec ${start?.trim()}`], { directory, environment });
    await demo.prints(/Ctrl-C stops it\./, 3 * startTimeoutMs);
    expect(demo.output).to.match(
      /npx leadscore train \S*past-leads\.csv \\\n {2}--converted Won --at "As Of" --org org_/,
    );
    for (const line of (commands ?? '').trimEnd().split('\n')) await run(line);

    const reply = JSON.parse(await run(call ?? ''));
    expect(reply).to.include({ records_scored: 1, model_id: printed.get('mdl_...') });
    expect(reply.scores[0].conversion_likelihood).to.be.within(0.0001, 0.9999);
  });
});
