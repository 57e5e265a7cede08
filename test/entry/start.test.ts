import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readServerRecord } from '../../scripts/servers/private-servers.js';
import { isAlive } from '../../scripts/servers/server-process.js';
import { anyPort, noServers } from '../support/entry/settings.js';
import { StartedCommand } from '../support/entry/started-command.js';
import { type ProjectCopy, projectCopy } from '../support/project-copy.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

describe('npm start', () => {
  let copy: ProjectCopy;
  const commands: StartedCommand[] = [];

  before(async function () {
    this.timeout(startTimeoutMs);
    copy = await projectCopy();
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    for (const command of commands) await command.stop();
    await copy?.remove();
  });

  /**
   * A script of package.json as a process of its own, without npm.
   * @param before lines of the shell before the script
   */
  async function started(script: string, before = ''): Promise<StartedCommand> {
    const { scripts } = JSON.parse(await readFile(join(copy.directory, 'package.json'), 'utf8'));
    const environment = { ...anyPort, ...noServers };
    const command = new StartedCommand(['sh', '-c', before + scripts[script]], {
      directory: copy.directory,
      environment,
    });
    commands.push(command);
    return command;
  }

  /** Waits until the service is ready. */
  async function privateServersOf(start: StartedCommand): Promise<readonly number[]> {
    await start.prints(/"msg":"ready"/);
    return (await readServerRecord(join(copy.directory, '.local/data')))?.serverPids ?? [];
  }

  it('ends all processes with exit code 1 when its private MongoDB is killed, and logs the reason last', async function () {
    this.timeout(2 * startTimeoutMs);
    const start = await started('start');
    const pids = await privateServersOf(start);
    expect(pids).to.have.length(2);
    process.kill(pids[0] ?? 0, 'SIGKILL');
    const { how, output } = await start.ended;
    expect(how, output).to.equal(1);
    expect(output).to.match(/npm start is no supervisor.*docs\/operating\.md/);
    const logged = output.split('\n').filter((line) => line.includes('"process":"start"'));
    const why = 'the private MongoDB ended: SIGKILL';
    expect(logged.at(-2), output).to.include('"level":"fatal"').and.include(`"msg":"${why}"`);
    expect(logged.at(-1), output).to.include(`"msg":"stopped, because ${why}"`);
    expect(pids.filter(isAlive)).to.deep.equal([]);
  });

  itInFull(
    'writes the settings with which a second pool joins its servers, and removes them when it stops',
    async function () {
      this.timeout(3 * startTimeoutMs);
      const start = await started('start');
      await privateServersOf(start);
      const file = join(copy.directory, '.local/data/servers.env');
      expect((await stat(file)).mode & 0o777).to.equal(0o600);
      const names = (await readFile(file, 'utf8')).split('\n').map((line) => line.replace(/=.*/, ''));
      expect(names).to.deep.equal(['REDIS_URL', 'MONGODB_URL', 'KEY_PEPPER', '']);
      const [pool, gateway] = ['start:worker', 'start:gateway'].map((script) =>
        started(script, 'set -a; . .local/data/servers.env; set +a\n'),
      );
      await (await pool)?.prints(/"msg":"worker pool ready"/);
      await (await gateway)?.prints(/"msg":"gateway ready"/);
      for (const each of [await gateway, await pool, start]) {
        each?.process.kill('SIGTERM');
        const { how, output } = (await each?.ended) ?? {};
        expect(how, output).to.equal(0);
      }
      expect(await readFile(file).catch(() => undefined)).to.equal(undefined);
    },
  );

  itInFull('stops its private servers last on SIGHUP, without a warning or an error in the log', async function () {
    this.timeout(startTimeoutMs);
    const start = await started('start');
    const pids = await privateServersOf(start);
    start.process.kill('SIGHUP');
    const { how, output } = await start.ended;
    expect(how, output).to.equal(0);
    expect(output.split('\n').filter((line) => /"level":"(warn|error|fatal)"/.test(line))).to.deep.equal([]);
    expect(pids.filter(isAlive)).to.deep.equal([]);
  });

  it('warns when the sources have changed since they were compiled', async function () {
    this.timeout(startTimeoutMs);
    const line = 'The sources have changed since dist/ was compiled';
    const first = await started('start:gateway');
    expect((await first.ended).output).to.not.include(line);
    const later = new Date(Date.now() + 60_000);
    await utimes(join(copy.directory, 'api', 'main.ts'), later, later);
    const again = await started('start:gateway');
    expect((await again.ended).output)
      .to.include(line)
      .and.include('KEY_PEPPER must be set');
  });

  it('names the required Node version when this Node is too old', async () => {
    const manifestFile = join(copy.directory, 'package.json');
    const manifest = await readFile(manifestFile, 'utf8');
    await writeFile(manifestFile, manifest.replace(/"node": ">=[^"]*"/, '"node": ">=99.1"'));
    const { how, output } = await (await started('start')).ended;
    await writeFile(manifestFile, manifest);
    expect(output).to.equal(`Node ${process.versions.node} is too old: install 99.1 or later.\n`);
    expect(how).to.equal(1);
  });

  it('asks for "npm run setup" when nothing is compiled, in all three start scripts', async () => {
    await rm(join(copy.directory, 'dist'), { recursive: true });
    for (const script of ['start', 'start:gateway', 'start:worker']) {
      const { how, output } = await (await started(script)).ended;
      expect(output, script).to.equal('Leadscore is not set up yet: run "npm run setup" first.\n');
      expect(how, script).to.equal(1);
    }
  });
});
