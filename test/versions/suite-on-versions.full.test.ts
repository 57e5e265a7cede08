import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { findRedisServer } from '../../scripts/servers/server-process.js';
import { testFiles } from '../../scripts/test/test-files.js';
import { childEnvironment } from '../../shared/config/config.js';
import { projectFile } from '../../shared/process/project-root.js';
import { leaveOut } from '../support/leave-out.js';
import { runProgram } from '../support/run-program.js';
import { debianServer } from './debian-servers.js';

/** Tests of the Lua commands of the quota, of the latest scores, of the queues, and of scoring by HTTP. */
const chosen = [
  ...['shared/quota/commands', 'shared/quota/quota', 'shared/quota/sweep', 'shared/redis/lock'],
  ...['shared/latest-scores/eviction', 'shared/latest-scores/latest-scores'],
  ...['shared/latest-scores/latest-scores.model', 'http/score/rows/latest-scores'],
  ...['api/dispatch/dispatcher', 'api/dispatch/lane-queues', 'api/dispatch/reply-stream'],
  ...['http/score/200', 'http/quota/concurrency'],
].map((name) => `dist/test/${name}.test.js`);
const limitMs = 300_000;
const installLimitMs = 300_000;

/** The releases that are tried beside the installed ones, as packages of npm by their major version. */
const nodeReleases: Readonly<Record<string, string>> = {
  20: '20.20.2',
  22: '22.23.3',
  24: readFileSync(projectFile('.nvmrc'), 'utf8').trim(),
};

/** Runs the chosen tests as the first tier does, with a Node and the first `redis-server` of a folder. */
async function runSuite(node: string, folder?: string): Promise<void> {
  expect(await testFiles(), 'the test files').to.include.members(chosen);
  const path = childEnvironment({}).PATH ?? '';
  const { exitCode, output } = await runProgram(
    node,
    [
      projectFile('node_modules/mocha/bin/mocha.js'),
      '--require',
      './dist/test/versions/first-tier.js',
      '--reporter',
      'dot',
      ...chosen,
    ],
    {
      directory: projectFile('.'),
      environment: { PATH: folder === undefined ? path : `${folder}:${path}` },
      limitMs,
    },
  );
  expect(exitCode, output).to.equal(0);
  expect(Number(/(\d+) passing/.exec(output)?.[1]), output).to.be.above(50);
}

/** The first line of what a program prints. */
async function printed(program: string, ...commandLine: string[]): Promise<string> {
  const { output } = await runProgram(program, commandLine, { limitMs: 30_000 });
  return output.split('\n', 1)[0] ?? '';
}

describe('the tests of quota, dispatch and scoring', function () {
  this.timeout(limitMs + installLimitMs);

  for (const [server, program, version] of [
    ['Redis 7', undefined, /^Redis server v=7\./],
    ['Redis 8', 'redis-server', /^Redis server v=8\./],
    ['Valkey 8', 'valkey-server', /^Valkey server v=8\./],
  ] as const) {
    it(`pass on ${server}`, async function () {
      const installed = await findRedisServer();
      if (version.test(await printed(installed, '--version'))) {
        console.log(`      ${server} is installed: all other tests use it`);
        return;
      }
      if (program === undefined) leaveOut(this, `${server} is not installed`, `install ${server}`);
      const found = await debianServer(program);
      if ('reason' in found) leaveOut(this, found.reason, `install ${server} so that it is first on PATH`);
      expect(await printed(join(found.folder, 'redis-server'), '--version')).to.match(version);
      const { findServer }: typeof import('../../scripts/setup/find-server.mjs') = await import(
        pathToFileURL(projectFile('scripts/setup/find-server.mjs')).href
      );
      const { found: first } = await findServer({ server: 'redis', root: '.', searchPath: found.folder });
      expect(first?.path).to.equal(join(found.folder, 'redis-server'));
      await runSuite(process.execPath, found.folder);
    });
  }

  for (const [major, version] of Object.entries(nodeReleases)) {
    it(`pass on Node ${major}`, async function () {
      if (process.version.startsWith(`v${major}.`)) {
        console.log(`      Node ${major} runs all other tests`);
        return;
      }
      const directory = projectFile(`.local/npm/node-${version}`);
      await mkdir(directory, { recursive: true });
      const name = `node-${process.platform}-${process.arch}`;
      const commandLine = ['install', '--no-save', '--ignore-scripts', '--prefix', directory, `${name}@${version}`];
      const { exitCode, output } = await runProgram('npm', commandLine, { directory, limitMs: installLimitMs });
      if (exitCode !== 0)
        leaveOut(this, `npm ${commandLine.join(' ')} failed: ${output.trim().slice(-300)}`, 'give npm a registry');
      const node = join(directory, 'node_modules', name, 'bin/node');
      expect(await printed(node, '--version')).to.equal(`v${version}`);
      await runSuite(node);
    });
  }
});
