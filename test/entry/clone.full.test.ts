import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readServerRecord } from '../../scripts/servers/private-servers.js';
import { isAlive } from '../../scripts/servers/server-process.js';
import { childEnvironment } from '../../shared/config/config.js';
import { freshClone, setUpLimitMs } from '../support/entry/fresh-clone.js';
import { demoModel, scoredRecords } from '../support/entry/scored-call.js';
import { anyPort, noServers, ownCache } from '../support/entry/settings.js';
import { StartedCommand } from '../support/entry/started-command.js';
import { eventually } from '../support/eventually.js';
import { runProgram } from '../support/run-program.js';
import { freshDatabases } from '../support/service/servers.js';
import { startTimeoutMs } from '../support/service/service.js';

type Environment = Readonly<Record<string, string | undefined>>;

describe('a clone of the project after npm run setup', () => {
  let directory: string;
  let started: StartedCommand[];

  before(async function () {
    this.timeout(setUpLimitMs);
    directory = await freshClone();
  });
  beforeEach(() => {
    started = [];
  });
  afterEach(async function () {
    this.timeout(2 * startTimeoutMs);
    await Promise.all(started.map((command) => command.stop()));
  });

  const start = (script: string, environment: Environment): StartedCommand => {
    const words = script === 'start' ? ['start'] : ['run', script];
    const command = new StartedCommand(['npm', ...words], { directory, environment });
    started.push(command);
    return command;
  };

  /** Runs a command as the documents show it, and returns what it printed. */
  async function leadscore(words: readonly string[], environment: Environment = {}): Promise<string> {
    const call = ['--no', '--', 'leadscore', ...words];
    const options = { directory, environment: { ...environment, ...ownCache(directory) }, limitMs: startTimeoutMs };
    const { exitCode, output } = await runProgram('npx', call, options);
    expect(exitCode, `npx ${call.join(' ')}\n${output}`).to.equal(0);
    return output;
  }

  it('runs leadscore by npx', async function () {
    this.timeout(startTimeoutMs);
    expect(await leadscore(['--help'])).to.include('Usage: leadscore');
  });

  it('scores, runs a bulk job and shows the console by the npm scripts of the four processes', async function () {
    this.timeout(3 * startTimeoutMs);
    const { redisUrl, mongoUrl } = await freshDatabases();
    const environment = { ...anyPort, REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, KEY_PEPPER: 'pepper-of-the-clone' };
    const gateway = start('start:gateway', environment);
    const pool = start('start:worker', environment);
    const runner = start('start:bulk', environment);
    const admin = start('start:console', environment);
    const [, url = ''] = await gateway.prints(/"url":"([^"]+)","msg":"gateway ready"/);
    const [, consoleUrl = ''] = await admin.prints(/"url":"([^"]+)","msg":"console ready"/);
    await pool.prints(/"msg":"worker pool ready"/);
    await runner.prints(/"msg":"bulk runner ready"/);

    const { model, key } = await demoModel(childEnvironment(environment));
    const file = join(directory, 'two.csv');
    await writeFile(file, 'crm_id,Lead Source\nNEW-1,Referral\nNEW-2,Webinar\n');
    const words = ['score', file, '--model', model, '--key', key, '--url', url, '--json'];
    expect(await leadscore(words, environment)).to.match(/"scored": ?2\b/);
    expect(await scoredRecords(url, { model, key })).to.equal(1);

    const page = await (await fetch(consoleUrl)).text();
    const script = /<script[^>]* src="([^"]+)"/.exec(page)?.[1] ?? expect.fail(page);
    expect((await fetch(new URL(script, consoleUrl))).status).to.equal(200);

    for (const command of started) expect((await command.stop()).how, command.output).to.equal(0);
  });

  it('runs all of it on private servers by npm start, and ends them on SIGTERM', async function () {
    this.timeout(3 * startTimeoutMs);
    const all = start('start', { ...anyPort, ...noServers });
    const [, url = '', consoleUrl = ''] = await all.prints(/"url":"([^"]+)","console":"([^"]+)","msg":"ready"/);
    const pids = (await readServerRecord(join(directory, '.local/data')))?.serverPids ?? [];
    expect(pids).to.have.length(2);
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).to.equal(200));
    expect((await fetch(consoleUrl)).status).to.equal(200);
    expect(await leadscore(['org', 'list'], noServers)).to.include('organisation');
    expect((await all.stop()).how, all.output).to.equal(0);
    expect(pids.filter(isAlive)).to.deep.equal([]);
  });
});
