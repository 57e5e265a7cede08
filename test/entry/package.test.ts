import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { childEnvironment } from '../../shared/config/config.js';
import { projectFile } from '../../shared/process/project-root.js';
import { packProject, reachedModules, type Tarball } from '../support/entry/installed-package.js';
import { demoModel, scoredRecords } from '../support/entry/scored-call.js';
import { anyPort } from '../support/entry/settings.js';
import { StartedCommand } from '../support/entry/started-command.js';
import { leaveOut } from '../support/leave-out.js';
import { markdownBlocks } from '../support/markdown-blocks.js';
import { runProgram } from '../support/run-program.js';
import { freshDatabases } from '../support/service/servers.js';
import { startTimeoutMs } from '../support/service/service.js';
import { projectPaths } from '../support/sources/project-sources.js';

const installLimitMs = 180_000;

describe('the package of npm pack', () => {
  let parent: string;
  let directory: string;
  let tarball: Tarball;
  const started: StartedCommand[] = [];

  before(async function () {
    this.timeout(startTimeoutMs);
    parent = await mkdtemp(join(tmpdir(), 'leadscore-package-'));
    directory = join(parent, 'empty');
    await mkdir(directory);
    tarball = await packProject(parent);
  });
  after(async function () {
    this.timeout(2 * startTimeoutMs);
    await Promise.all(started.map((command) => command.stop()));
    await rm(parent, { recursive: true, force: true });
  });

  it('holds exactly the programs and what they load', async () => {
    const compiled = tarball.files.filter((path) => path.startsWith('dist/') && !path.includes('/console/app/'));
    const file = pathToFileURL(projectFile('scripts/programs.mjs')).href;
    const { programs }: { programs: readonly string[] } = await import(file);
    const reached = reachedModules(programs);
    // Not the lists themselves: chai prints no path of a list of hundreds.
    expect(
      reached.filter((path) => !compiled.includes(path)),
      'not packed',
    ).to.deep.equal([]);
    expect(
      compiled.filter((path) => !reached.includes(path)),
      'never runs',
    ).to.deep.equal([]);
  });

  it('holds the Lua scripts and texts beside the modules, the console, the exporter and the documents', () => {
    expect(tarball.files).to.include.members(
      projectPaths().filter(
        (path) => /^(api|shared|worker)\/.*\.(lua|json|md)$/.test(path) && !path.startsWith('api/console/app/'),
      ),
    );
    expect(tarball.files).to.include('api/docs/docs.css');
    const others = ['README.md', 'LICENSE', 'CHANGELOG.md', '.env.example', 'docs/quickstart.md'];
    const shipped = ['scripts/demo/bundle/model.onnx', 'scripts/export/pyproject.toml', 'scripts/setup/build.mjs'];
    expect(tarball.files).to.include.members([...others, ...shipped, 'dist/api/console/app/index.html']);
  });

  it('holds no test, no TypeScript source, no source map and no generated file of Python', () => {
    const isForbidden = /(^|\/)(tests?|fixtures)\/|(?<!\.d)\.m?tsx?$|\.map$|__pycache__|\.pyc$/;
    expect(tarball.files.filter((path) => isForbidden.test(path))).to.deep.equal([]);
  });

  it('scores in an empty folder by the commands of docs/operating.md', async function () {
    this.timeout(installLimitMs + 2 * startTimeoutMs);
    const markdown = readFileSync(projectFile('docs/operating.md'), 'utf8');
    const block = markdownBlocks(markdown).find(({ heading }) => heading === 'As a package');
    const lines = block?.text.trimEnd().split('\n') ?? [];
    const { redisUrl, mongoUrl } = await freshDatabases();
    const pepper = { KEY_PEPPER: 'pepper-of-the-package' };
    const environment = { ...anyPort, ...pepper, REDIS_URL: redisUrl, MONGODB_URL: mongoUrl };
    const run = async (line: string): Promise<string> => {
      const here = { directory, environment: { ...environment, npm_config_prefer_offline: 'true' } };
      const { exitCode, output } = await runProgram('sh', ['-c', line], { ...here, limitMs: installLimitMs });
      if (exitCode !== 0 && /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT)\b/.test(output))
        leaveOut(this, 'npm reaches no registry', 'connect this machine with an npm registry');
      expect(exitCode, `${line}\n${output}`).to.equal(0);
      return output;
    };

    const [install = '', help = '', ...services] = lines;
    expect(install).to.include(basename(tarball.path));
    await run(install.replace(basename(tarball.path), tarball.path));
    expect(await run(help)).to.include('Usage: leadscore');

    expect(services).to.have.length(4);
    started.push(
      ...services.map((line) => new StartedCommand(['sh', '-c', `exec ${line}`], { directory, environment })),
    );
    const ready = /"msg":"(gateway|worker pool|bulk runner|console) ready"/;
    const names = await Promise.all(started.map(async (command) => (await command.prints(ready))[1]));
    expect(names).to.have.members(['gateway', 'worker pool', 'bulk runner', 'console']);
    const urls = started.map(({ output }) => /"url":"([^"]+)"/.exec(output)?.[1]);
    const [url, consoleUrl] = ['gateway', 'console'].map((name) => urls[names.indexOf(name)] ?? expect.fail(name));

    expect(await run('npx --no -- leadscore org create --name Acme --plan pro')).to.match(/\borg_\w+/);
    const access = await demoModel(childEnvironment(environment));
    expect(await scoredRecords(url, access)).to.equal(1);
    for (const page of ['/docs', '/openapi.json']) expect((await fetch(`${url}${page}`)).status, page).to.equal(200);
    expect(await (await fetch(consoleUrl ?? '')).text()).to.include('<script');
  });

  it('starts by its npm scripts, without private servers', async function () {
    this.timeout(startTimeoutMs);
    const folder = join(directory, 'node_modules', 'leadscore');
    const unset = { REDIS_URL: undefined, MONGODB_URL: undefined };
    const options = { directory: folder, environment: { ...anyPort, ...unset }, limitMs: startTimeoutMs };
    const worker = await runProgram('npm', ['run', 'start:worker'], options);
    expect(worker.output).to.include('REDIS_URL and MONGODB_URL must be set');
    const all = await runProgram('npm', ['start'], options);
    expect(all.output).to.include('npm would remove the data of private servers');
  });
});
