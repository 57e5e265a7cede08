import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';
import { runProgram } from '../support/run-program.js';

/** A module of the set-up, which is plain JavaScript: it runs before the first build. */
const setupModule = <Exports>(name: string): Promise<Exports> =>
  import(pathToFileURL(projectFile(`scripts/setup/${name}.mjs`)).href);

type Packages = Readonly<Record<string, object>>;

const packagesOf = async (file: string): Promise<Packages> =>
  JSON.parse(await readFile(projectFile(file), 'utf8')).packages;

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
    const { linkCommandLine } = await setupModule<{ linkCommandLine: (root: string) => Promise<void> }>('build');
    await linkCommandLine(project);
    await linkCommandLine(project); // the link exists already
    const { exitCode, output } = await leadscore();
    expect(output).to.include('it runs');
    expect(exitCode).to.equal(0);
  });

  describe('with packages', () => {
    type Machine = Readonly<Record<'os' | 'cpu', string> & { libc?: string }>;
    type HoldsAll = (wanted: Packages, installed: Packages, machine?: Machine) => boolean;
    let holdsAll: HoldsAll;
    let wanted: Packages;
    let installed: Packages;

    before(async () => {
      ({ holdsAll } = await setupModule<{ holdsAll: HoldsAll }>('installed-packages'));
      wanted = await packagesOf('package-lock.json');
      installed = await packagesOf('node_modules/.package-lock.json');
    });

    it('accepts what npm installed from the lock file on this machine', () => {
      expect(Object.keys(installed)).to.have.lengthOf.below(Object.keys(wanted).length - 1);
      expect(holdsAll(wanted, installed)).to.equal(true);
    });

    it('misses each package that is removed, or has another version', () => {
      for (const [folder, entry] of Object.entries(installed)) {
        const { [folder]: _, ...others } = installed;
        expect(holdsAll(wanted, others), `without ${folder}`).to.equal(false);
        const older = { ...installed, [folder]: { ...entry, version: '0.0.1' } };
        expect(holdsAll(wanted, older), `an old ${folder}`).to.equal(false);
      }
    });

    it('misses the packages of a machine that is not this one', () => {
      const { platform: os, arch: cpu } = process;
      const otherSystem = os === 'darwin' ? 'linux' : 'darwin';
      for (const machine of [
        { os: otherSystem, cpu, libc: 'glibc' },
        { os, cpu: 'wasm32', libc: 'glibc' },
      ])
        expect(holdsAll(wanted, installed, machine), JSON.stringify(machine)).to.equal(false);
    });

    it('lets a package be absent only when all that need it are absent for another system', () => {
      const forWasm = { optional: true, cpu: ['wasm32'], dependencies: { helper: '1' } };
      const helper = { optional: true, dependencies: { deep: '1' } };
      const packages = {
        '': { optionalDependencies: { binding: '1' } },
        'node_modules/binding': forWasm,
        'node_modules/helper': helper,
        'node_modules/deep': { optional: true, peerDependencies: { helper: '1' } },
      };
      const machine = { os: 'linux', cpu: 'x64', libc: 'glibc' };
      expect(holdsAll(packages, {}, machine)).to.equal(true);
      const needed = { ...packages, 'node_modules/user': { dependencies: { deep: '1' } } };
      expect(holdsAll(needed, { 'node_modules/user': {} }, machine)).to.equal(false);
      expect(holdsAll(packages, {}, { ...machine, cpu: 'wasm32' })).to.equal(false);
      expect(holdsAll({ 'node_modules/plain': {} }, {}, machine)).to.equal(false);
    });

    it('installs nothing when it runs again', async function () {
      this.timeout(60_000);
      const { preparePackages } = await setupModule<{
        preparePackages: (options: { root: string; say: (line: string) => void }) => Promise<string>;
      }>('node-packages');
      const said: string[] = [];
      const outcome = await preparePackages({
        root: projectFile('.').replace(/\/$/, ''),
        say: (line) => said.push(line),
      });
      expect(outcome).to.equal('as in package-lock.json');
      expect(said).to.deep.equal([]);
    });

    it('refuses to install while a program of the folder runs, and names it', async function () {
      this.timeout(60_000);
      const program = join(directory, 'dist', 'scripts', 'start.js');
      await mkdir(join(directory, 'dist', 'scripts'), { recursive: true });
      await writeFile(program, 'console.log("runs"); setInterval(() => {}, 1000);\n');
      await mkdir(join(directory, 'scripts'));
      await cp(projectFile('scripts/setup'), join(directory, 'scripts', 'setup'), { recursive: true });
      for (const file of ['scripts/setup.mjs', 'package.json', 'tsconfig.json', '.nvmrc'])
        await cp(projectFile(file), join(directory, file));
      await writeFile(
        join(directory, 'package-lock.json'),
        JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } }),
      );
      const kept = join(directory, 'node_modules', 'b.js');
      await mkdir(join(directory, 'node_modules'));
      await writeFile(kept, '');

      for (const named of ['dist/scripts/start.js', program]) {
        const service = spawn(process.execPath, ['--enable-source-maps', named], { cwd: directory });
        try {
          await once(service.stdout, 'data');
          const { exitCode, output } = await runProgram(process.execPath, ['scripts/setup.mjs'], {
            directory,
            limitMs: 50_000,
          });
          expect(output).to.include(`process ${service.pid} (dist/scripts/start.js)`).and.include('Stop them');
          expect(exitCode).to.equal(1);
          expect(existsSync(kept)).to.equal(true);
        } finally {
          service.kill('SIGKILL');
        }
      }
    });
  });
});
