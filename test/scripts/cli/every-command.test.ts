import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import { freePort } from '../../../scripts/servers/server-process.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { leaveOut } from '../../support/leave-out.js';
import { itInFull } from '../../support/tier.js';
import { callCli, runCliProcess } from './cli-call.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

describe('every command', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  it('the compiled commands create an organisation, a key and a model on a fresh database', async () => {
    const document = async (...words: string[]): Promise<Record<string, unknown>> => {
      const { exitCode, stdout, stderr } = await runCliProcess([...words, '--json'], desk.settings);
      expect(exitCode, stderr).to.equal(0);
      expect(stderr).to.equal('');
      return JSON.parse(stdout);
    };
    const organisation = String((await document('org', 'create', '--name', 'Acme', '--plan', 'pro')).org_id);
    expect(await document('key', 'create', organisation)).to.include.keys('key_id', 'secret');
    const bundle = await desk.writeBundle();
    const { model_id: model } = await document('model', 'import', bundle, '--org', organisation);
    const listed = await runCliProcess(['model', 'list', organisation], desk.settings);
    expect(listed.stdout).to.include(String(model)).and.include('too_early_to_grade');
    expect((await runCliProcess(['model', 'show', 'mdl_x'], desk.settings)).exitCode).to.equal(1);
    expect((await runCliProcess(['model'], desk.settings)).exitCode).to.equal(2);
    expect((await runCliProcess(['--version'])).stdout).to.match(/^\d+\.\d+\.\d+\n$/);
  });

  it('commands exit with 1 on an unknown id, and their JSON error names the command that lists the ids', async () => {
    for (const words of [
      ['org', 'show', 'org_x'],
      ['org', 'set', 'org_x', '--plan', 'pro'],
      ['org', 'suspend', 'org_x', '--reason', 'not paid'],
      ['org', 'resume', 'org_x'],
      ['org', 'delete', 'org_x', '--name', 'Acme'],
      ['org', 'undelete', 'org_x'],
      ['org', 'receipts', 'org_x'],
      ['key', 'create', 'org_x'],
      ['key', 'list', 'org_x'],
      ['key', 'set', 'key_x', '--expires', 'never'],
      ['key', 'revoke', 'key_x'],
      ['model', 'list', 'org_x'],
      ['model', 'show', 'mdl_x'],
      ['model', 'coverage', 'mdl_x'],
      ['model', 'compare', 'mdl_x'],
      ['model', 'promote', 'mdl_x'],
      ['model', 'rollback', 'mdl_x'],
      ['model', 'set', 'mdl_x', '--live-api', 'on'],
      ['model', 'delete', 'mdl_x'],
      ['usage', 'show', 'org_x'],
      ['usage', 'reconcile', 'org_x'],
      ['validation', 'run', 'mdl_x'],
      ['validation', 'show', 'mdl_x'],
      ['job', 'list', '--org', 'org_x'],
    ]) {
      const { exitCode, stdout, stderr } = await desk.run(...words, '--json');
      expect(exitCode, words.join(' ')).to.equal(1);
      expect(stdout).to.equal('');
      expect(JSON.parse(stderr).error).to.include({ code: 'not_found' });
      expect(stderr).to.include('npx leadscore ');
    }
  });

  it('commands exit with 2 on invalid arguments before they connect to a server', async () => {
    for (const words of [
      [],
      ['org'],
      ['nothing'],
      ['org', 'create', '--name', 'A'],
      ['org', 'create', '--name', ' ', '--plan', 'pro'],
      ['org', 'create', '--name', 'A', '--plan', 'gold'],
      ['org', 'suspend', 'org_a'],
      ['org', 'suspend', 'org_a', '--reason', ' '],
      ['org', 'delete', 'org_a'],
      ['org', 'delete', 'org_a', '--name', 'Acme', '--after', '0'],
      ['org', 'delete', 'org_a', '--name', 'Acme', '--after', '91'],
      ['org', 'create', '--name', 'A', '--plan', 'pro', '--limit', '-1'],
      ['org', 'create', '--name', 'A', '--plan', 'trial', '--trial-ends', '2026-02-30'],
      ['org', 'create', '--name', 'A', '--plan', 'pro', '--trial-ends', '2026-02-28'],
      ['usage', 'show', 'org_a', '--csv'],
      ['usage', 'show', 'org_a', '--daily', '--csv', '--json'],
      ['key', 'create'],
      ['key', 'create', 'org_a', '--rate', '1.5'],
      ['key', 'create', 'org_a', '--expires', '2027-02-30'],
      ['key', 'set', 'key_a'],
      ['key', 'set', 'key_a', '--scopes', 'score,admin'],
      ['key', 'set', 'key_a', '--expires', 'tomorrow'],
      ['key', 'set', 'leadscore_sk_x', '--expires', 'never'],
      ['model', 'import', 'x'],
      ['train', 'leads.csv'],
      ['model', 'set', 'mdl_a', '--live-api', 'maybe'],
      ['model', 'coverage', 'mdl_a', '--days', '91'],
      ['model', 'promote', 'mdl_a', '--force'],
      ['model', 'promote', 'mdl_a', '--reason', 'x'],
      ['model', 'rollback', 'mdl_a', '--override'],
      ['usage', 'show', 'org_a', '--month', '2026-13'],
      ['outcomes', 'import', 'org_a'],
      ['validation', 'run', '--as-of', '2026-02-30'],
      ['validation', 'simulate', '--runs', '0'],
      ['job', 'create', 'leads.csv', '--model', 'mdl_a'],
      ['job', 'create', 'leads.csv', '--model', 'mdl_a', '--key', 'k', '--stop-at', 'end'],
      ['job', 'create', 'leads.csv', '--model', 'mdl_a', '--key', 'k', '--max-errors', '-1'],
      ['job', 'show', '--key', 'k'],
      ['job', 'list'],
    ]) {
      const { exitCode, stdout } = await callCli(words);
      expect(exitCode, words.join(' ')).to.equal(2);
      expect(stdout).to.equal('');
    }
  });

  it('commands without configured servers name the missing setting and npm start', async () => {
    const halfSet = await callCli(['org', 'list'], { REDIS_URL: desk.databases.redisUrl });
    expect(halfSet.exitCode).to.equal(1);
    expect(halfSet.stderr).to.include('MONGODB_URL is not set').and.include('npm start');
  });

  it('the error for a misspelt required option names the misspelt one and suggests the right one', async () => {
    const { exitCode, stderr } = await callCli(['model', 'import', './bundle', '--ogr', 'org_x']);
    expect(exitCode).to.equal(2);
    expect(stderr).to.include("Unknown option '--ogr'").and.include('Did you mean --org?');
    const missing = await callCli(['model', 'import', './bundle']);
    expect(missing.exitCode).to.equal(2);
    expect(missing.stderr).to.include("Required option '--org <org>' not specified");
  });

  it('a change without Redis is stored and exits with 0 and a warning', async () => {
    const id = await desk.newOrganisation();
    const { exitCode, stdout, stderr } = await callCli(['org', 'set', id, '--plan', 'free', '--json'], {
      ...desk.settings,
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
    });
    expect(exitCode).to.equal(0);
    expect(JSON.parse(stdout)).to.include({ plan: 'free' });
    expect(stderr).to.include('within 5 seconds');
  });

  itInFull('a command exits with 1 when MongoDB accepts connections but does not answer', async function () {
    this.timeout(60_000);
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    // Disables the connect timeout of the driver.
    const url = `mongodb://127.0.0.1:${port}/?connectTimeoutMS=0`;
    try {
      const { exitCode, stderr } = await runCliProcess(['org', 'list'], {
        ...desk.settings,
        MONGODB_URL: url,
      });
      expect(exitCode).to.equal(1);
      expect(stderr).to.include('MongoDB did not answer');
    } finally {
      silent.close();
    }
  });

  it('a command exits with 1 and the reason when standard output is on a full disk', async function () {
    const full = '/dev/full';
    if (!existsSync(full)) leaveOut(this, `${full} does not exist`, 'run it on Linux');
    const output = openSync(full, 'w');
    try {
      const main = projectFile('dist/scripts/cli/main.js');
      const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', output, 'pipe'] });
      let stderr = '';
      child.stderr?.on('data', (bytes) => {
        stderr += bytes;
      });
      const [exitCode] = await once(child, 'close');
      expect(exitCode).to.equal(1);
      expect(stderr).to.match(/^Error: cannot write to standard output: .*no space left.*\n$/);
    } finally {
      closeSync(output);
    }
  });

  it('the help of every command has an example, --json and lines of at most 110 characters', async () => {
    const commands = [
      ...['org create', 'org set', 'org show', 'org list', 'org suspend', 'org resume', 'org export'],
      ...['org delete', 'org undelete', 'org receipts'],
      ...['audit', 'lead export'],
      ...['key create', 'key list', 'key find', 'key set', 'key revoke'],
      'model import',
      ...[
        'model check',
        'model set',
        'model list',
        'model show',
        'model coverage',
        ...['model candidate', 'model compare', 'model promote', 'model rollback'],
        'model delete',
        'usage show',
        'usage refused',
        'usage reconcile',
        'outcomes import',
        'restore export',
        'restore finish',
        'validation run',
        'validation show',
        'validation simulate',
        'score',
        'train',
        ...['job create', 'job list', 'job show', 'job pause', 'job resume', 'job cancel', 'job delete', 'job results'],
      ],
    ];
    for (const command of commands) {
      const { exitCode, stdout } = await callCli([...command.split(' '), '--help']);
      expect(exitCode, command).to.equal(0);
      expect(stdout, command).to.include(`npx leadscore ${command}`).and.include('--json');
      expect(Math.max(...stdout.split('\n').map((line) => line.length)), command).to.be.at.most(110);
    }
  });

  it('--help, -h and help mark the required options', async () => {
    for (const words of [
      ['score', '--help'],
      ['score', '-h'],
      ['help', 'score'],
    ]) {
      const { stdout } = await callCli(words);
      expect(stdout, words.join(' '))
        .to.match(/--model <model> .*\(required\)/)
        .and.to.match(/--key <key> .*\(required\)/);
      expect(stdout).to.not.match(/--url <url> .*\(required\)/);
    }
  });
});
