import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';
import { runProgram } from '../support/run-program.js';

describe('set-up', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-setup-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('links leadscore so that npx finds it, even after npx has cached its absence', async function () {
    this.timeout(60_000);
    const program = 'dist/scripts/cli/main.js';
    const manifest = { name: 'leadscore', version: '0.1.0', bin: { leadscore: program } };
    const project = join(directory, 'project');
    await mkdir(project);
    await writeFile(join(project, 'package.json'), JSON.stringify(manifest));
    const leadscore = () =>
      runProgram('npx', ['--offline', 'leadscore'], {
        directory: project,
        environment: { npm_config_cache: join(directory, 'cache') },
        limitMs: 25_000,
      });
    expect((await leadscore()).exitCode).to.not.equal(0);

    await mkdir(join(project, 'dist/scripts/cli'), { recursive: true });
    await writeFile(join(project, program), '#!/bin/sh\necho it runs\n', { mode: 0o755 });
    const file = pathToFileURL(projectFile('scripts/setup/build.mjs')).href;
    const { linkCommandLine }: { linkCommandLine: (root: string) => Promise<void> } = await import(file);
    await linkCommandLine(project);
    await linkCommandLine(project); // the link exists already
    const { exitCode, output } = await leadscore();
    expect(output).to.include('it runs');
    expect(exitCode).to.equal(0);
  });
});
