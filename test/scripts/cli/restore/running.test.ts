import { expect } from 'chai';
import { endWithThisProcess, type ServiceProcess, startService } from '../../../../scripts/servers/service-process.js';
import { installationKey } from '../../../../shared/redis/keys.js';
import { countOf } from '../../../../shared/redis/running-processes.js';
import { testServers } from '../../../support/service/servers.js';
import { type RunningService, runningService, startTimeoutMs } from '../../../support/service/service.js';
import { callCli } from '../cli-call.js';

describe('leadscore restore finish beside running processes', () => {
  let service: RunningService;
  let settings: Record<string, string>;
  let people: ServiceProcess;

  before(async function () {
    this.timeout(2 * startTimeoutMs);
    service = await runningService({ gateways: 2, withRunner: true });
    const mongoUrl = new URL((await testServers()).mongoUrl);
    mongoUrl.pathname = `/${service.stores.database.databaseName}`;
    settings = { REDIS_URL: service.redisServer.url, MONGODB_URL: mongoUrl.href, KEY_PEPPER: service.keyPepper };
    const environment = { ...settings, CONSOLE_PORT: '0', CONSOLE_URL: undefined, KEY_BRAND: undefined };
    people = await startService({ kind: 'console', environment, log: 'ignore' });
    endWithThisProcess(people);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await people?.stop();
    await service?.stop();
  });

  const finish = (...words: string[]) => callCli(['restore', 'finish', '--json', ...words], settings);
  const forgotten = 'redis_keys_dropped';

  it('refuses, names how many of each run, and drops nothing; --yes overrides', async () => {
    const counter = '{org_x}:usage:live:2026-11';
    await service.redis.hset(counter, 'used', 1);
    const { exitCode, stdout, stderr } = await finish();
    expect([exitCode, stdout]).to.deep.equal([1, '']);
    const { error } = JSON.parse(stderr);
    expect(error).to.include({ code: 'still_running' });
    expect(error.running).to.deep.equal({ gateway: 2, pool: 1, bulk: 1, console: 1 });
    expect(error.message)
      .to.include('Still running on this Redis: 2 gateways, 1 worker pool, 1 runner, 1 console.')
      .and.include('Stop all gateways, pools, runners and consoles, and run the command again; or add --yes');
    expect(await service.redis.exists(counter)).to.equal(1);

    const overridden = await finish('--yes');
    expect(overridden.exitCode, overridden.stderr).to.equal(0);
    expect(JSON.parse(overridden.stdout)[forgotten]).to.be.at.least(1);
    expect(await service.redis.exists(counter)).to.equal(0);
  });

  it('refuses while only a pool runs, and runs once all processes have stopped', async function () {
    this.timeout(2 * startTimeoutMs);
    const { gateways, runner, pool } = service.stack;
    await Promise.all([...gateways, people].map((each) => each.stop()));
    await runner?.stop();
    const { exitCode, stderr } = await finish();
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stderr).error.message).to.include('Still running on this Redis: 1 worker pool. ');
    await pool.stop();
    const finished = await finish();
    expect(finished.exitCode, finished.stderr).to.equal(0);
  });

  it('refuses the Redis of another database, and drops nothing', async () => {
    const counter = '{org_y}:usage:live:2026-11';
    const own = await service.redis.getset(installationKey, 'another database');
    await service.redis.hset(counter, 'used', 1);
    const { exitCode, stderr } = await finish('--yes');
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stderr).error).to.include({ code: 'other_redis' });
    expect(JSON.parse(stderr).error.message).to.include('counts usage for another MongoDB than MONGODB_URL');
    expect(await service.redis.exists(counter)).to.equal(1);
    await service.redis.set(installationKey, own ?? '');
    await service.redis.del(counter);
  });

  it('counts gateways of the same database number that were heard within 30 s', () => {
    const line = (name: string, database: number, idle: number) =>
      `id=3 addr=127.0.0.1:52555 laddr=127.0.0.1:6379 fd=8 name=${name} age=855 idle=${idle} flags=N db=${database} sub=0`;
    const name = 'leadscore-gateway-commands';
    const list = [
      ...[line(name, 0, 1), line(name, 0, 30), line(name, 0, 31), line(name, 2, 0)],
      ...[line('leadscore-gateway-jobs', 0, 0), line('', 0, 0)],
    ].join('\n');
    expect(countOf(list, 'gateway', 0)).to.equal(2);
    expect(countOf(list, 'gateway', 2)).to.equal(1);
    expect(countOf(list, 'console', 0)).to.equal(0);
  });

  it('says so when Redis does not tell which processes run', async () => {
    await service.redis.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-client|list');
    const url = new URL(settings.REDIS_URL ?? '');
    url.username = 'limited';
    url.password = 'secret';
    const limited = { ...settings, REDIS_URL: url.href };
    const { exitCode, stderr } = await callCli(['restore', 'finish'], limited);
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('because it refused CLIENT LIST').and.include('or add --yes once they are stopped');
    expect((await callCli(['restore', 'finish', '--yes'], limited)).exitCode).to.equal(0);
  });
});
