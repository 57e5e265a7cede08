import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startRedis } from '../../../../scripts/servers/redis/redis-server.js';
import { freePort } from '../../../../scripts/servers/server-process.js';
import { settingsToCompare } from '../../../../shared/config/agreeing-settings.js';
import { readConfig } from '../../../../shared/config/config.js';
import { ownRelease } from '../../../../shared/process/release.js';
import { processesKey } from '../../../../shared/redis/keys.js';
import { claimRedis } from '../../../../shared/redis/owner.js';
import { type ProcessNote, ProcessRegister } from '../../../../shared/redis/process-register.js';
import type { ProcessKind } from '../../../../shared/redis/running-processes.js';
import { KeySettingsStore } from '../../../../shared/store/accounts/key-settings.js';
import { connectMongo } from '../../../../shared/store/connection/connect.js';
import { installationId } from '../../../../shared/store/connection/installation-id.js';
import { prepareDatabase } from '../../../../shared/store/connection/prepare-database.js';
import { eventually } from '../../../support/eventually.js';
import { mongodWith } from '../../../support/service/mongod-with.js';
import { testServers } from '../../../support/service/servers.js';
import { type RunningService, runningService, startTimeoutMs } from '../../../support/service/service.js';
import { callCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

type Settings = Readonly<Record<string, string>>;

interface Mistake {
  readonly code: string;
  readonly problem: string;
  readonly harm: string;
  readonly remedy: string;
}

/** The mistakes that `doctor` finds; its exit code says whether there are any. */
async function mistakesWith(settings: Settings): Promise<readonly Mistake[]> {
  const { exitCode, stdout, stderr } = await callCli(['doctor', '--json'], settings);
  expect(stderr).to.equal('');
  const { mistakes } = JSON.parse(stdout);
  expect(exitCode).to.equal(mistakes.length > 0 ? 1 : 0);
  return mistakes;
}

const hourMs = 3_600_000;
const gib = 2 ** 30;

describe('leadscore doctor', () => {
  let desk: OperatorDesk;
  let directory: string;
  let register: ProcessRegister;

  before(async () => {
    desk = await operatorDesk();
    await prepareDatabase(desk.stores.database);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-doctor-'));
    register = new ProcessRegister(desk.redis);
  });
  after(async () => {
    await desk.leave();
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(() => desk.redis.flushdb());

  /** Notes a process with these settings, as the process does. */
  async function running(kind: ProcessKind, environment: Settings = {}, different: Partial<ProcessNote> = {}) {
    const settings = settingsToCompare(kind, readConfig({ KEY_PEPPER: desk.pepper, ...environment }));
    const state = { upMs: 50_000, clockAheadMs: 3, disk: { path: '/tmp', freeBytes: 40 * gib, totalBytes: 250 * gib } };
    const note = { kind, release: '0.1.0', host: 'web-1', pid: 210, ...state, settings, ...different };
    await register.note(`${kind} ${different.pid ?? note.pid}`, note);
  }

  /** Asserts that `doctor` finds one mistake, and returns it. */
  async function onlyMistake(settings: Settings = desk.settings): Promise<Mistake> {
    const mistakes = await mistakesWith(settings);
    expect(mistakes, JSON.stringify(mistakes)).to.have.length(1);
    const [mistake] = mistakes;
    if (mistake === undefined) throw new Error('no mistake');
    for (const text of [mistake.problem, mistake.harm, mistake.remedy]) expect(text).to.match(/^[A-Z].{20}/);
    return mistake;
  }

  it('finds no mistake without processes, or with processes that agree', async () => {
    expect(await mistakesWith(desk.settings)).to.deep.equal([]);
    for (const kind of ['gateway', 'pool', 'bulk', 'console'] as const) await running(kind);
    expect(await mistakesWith(desk.settings)).to.deep.equal([]);
    const { stdout } = await callCli(['doctor'], desk.settings);
    expect(stdout).to.include('1 gateway, 1 worker pool, 1 runner, 1 console; release 0.1.0');
    expect(stdout).to.include('No mistake found.');
  });

  it('names a Redis that cannot be reached, and still examines MongoDB', async () => {
    const settings = { ...desk.settings, REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
    expect(await onlyMistake(settings)).to.include({ code: 'redis_unreachable' });
    const { stdout, exitCode } = await callCli(['doctor'], settings);
    expect(exitCode).to.equal(1);
    expect(stdout).to.match(/Redis +cannot be reached\nMongoDB +\d+\.\d+/);
    expect(stdout).to.match(/1 mistake\n\n1\. Redis did not answer.*\n(.*\n)* {3}Harm {3}.*\n(.*\n)* {3}To do {2}/);
  });

  it('names a MongoDB that is no replica set, and one that cannot be reached', async function () {
    this.timeout(60_000);
    const mongod = await mongodWith(directory, []);
    try {
      const alone = await onlyMistake({ ...desk.settings, MONGODB_URL: mongod.url });
      expect(alone.code).to.equal('mongodb_unusable');
      expect(alone.problem).to.include('not a replica set').and.include('rs.initiate()');
    } finally {
      await mongod.stop();
    }
    const away = await onlyMistake({ ...desk.settings, MONGODB_URL: mongod.url });
    expect(away.code).to.equal('mongodb_unreachable');
  });

  it('names a Redis that evicts keys', async () => {
    const redis = await startRedis({
      directory: join(directory, 'redis'),
      extraArguments: ['--maxmemory-policy', 'allkeys-lru'],
    });
    try {
      const mistake = await onlyMistake({ ...desk.settings, REDIS_URL: redis.url });
      expect(mistake.code).to.equal('redis_policy');
      expect(mistake.problem).to.include('allkeys-lru').and.include('noeviction');
    } finally {
      await redis.stop();
    }
  });

  it('names a replica, whose scripts cannot write, and still examines MongoDB', async () => {
    const redis = await startRedis({
      directory: join(directory, 'replica'),
      extraArguments: ['--replicaof', '127.0.0.1', String(await freePort())],
    });
    try {
      const settings = { ...desk.settings, REDIS_URL: redis.url };
      expect((await onlyMistake(settings)).code).to.equal('redis_unusable');
      expect((await callCli(['doctor'], settings)).stdout).to.match(/Redis +cannot be used\nMongoDB +\d+\.\d+/);
    } finally {
      await redis.stop();
    }
  });

  it('names a Redis that belongs to another database', async () => {
    const { client, database } = await connectMongo(desk.databases.mongoUrl, { name: 'test' });
    await installationId(database);
    await client.close();
    await claimRedis(desk.redis, 'another-database');
    expect((await onlyMistake()).code).to.equal('other_database');
  });

  for (const [name, kinds] of [
    ['LANES', ['gateway', 'pool']],
    ['RETENTION_DAYS', ['pool', 'gateway']],
    ['JOB_RETENTION_DAYS', ['gateway', 'bulk']],
  ] as const)
    it(`names the processes whose ${name} differs`, async () => {
      const [one, other] = kinds;
      await running('pool');
      await running(one);
      await running(other, { [name]: '5' }, { pid: 211 });
      const { code, problem } = await onlyMistake();
      expect(code).to.equal('settings_differ');
      const named = { gateway: 'gateway', pool: 'worker pool', bulk: 'runner' };
      expect(problem).to.include(`${name} differs: `).and.include(`5 for ${named[other]} web-1:211`);
    });

  it('names the processes and the command whose KEY_PEPPER differs, and shows neither value nor fingerprint', async () => {
    const { client, database } = await connectMongo(desk.databases.mongoUrl, { name: 'test' });
    await new KeySettingsStore(database).claim({ brand: 'leadscore', pepper: desk.pepper });
    await client.close();
    await running('pool');
    await running('gateway');
    const other = 'the other pepper of a test';
    const others = [211, 212, 213, 214, 215].map((pid) => `gateway web-1:${pid}`).join(', ');
    for (const pid of [215, 214, 213, 212, 211]) await running('gateway', { KEY_PEPPER: other }, { pid });
    const { problem } = await onlyMistake();
    expect(problem).to.equal(
      `KEY_PEPPER differs: value 1 for gateway web-1:210, this command, the keys in the database; value 2 for ${others}`,
    );
    const stored = JSON.stringify(await desk.redis.hgetall(processesKey));
    expect(stored).not.to.include(other).and.not.to.include(desk.pepper);
    const command = await mistakesWith({ ...desk.settings, KEY_PEPPER: other });
    expect(command.map((each) => each.problem)).to.deep.equal([
      `KEY_PEPPER differs: value 1 for gateway web-1:210, the keys in the database; value 2 for ${others}, this command`,
    ]);
  });

  it('names a clock that is off, a disk that is nearly full and a lane without workers', async () => {
    const workers = {
      singles: { wanted: 2, ready: 0 },
      batches: { wanted: 2, ready: 2 },
      bulk: { wanted: 0, ready: 0 },
    };
    await running('gateway', {}, { clockAheadMs: -4_200 });
    await running('pool', {}, { disk: { path: '/tmp', freeBytes: gib, totalBytes: 50 * gib } });
    const mistakes = await mistakesWith(desk.settings);
    expect(mistakes.map(({ code, problem }) => [code, problem])).to.deep.equal([
      ['clock', 'The clock of gateway web-1:210 is 4.2 s behind that of Redis'],
      ['disk', 'The disk of worker pool web-1:210 is nearly full: 1.0 GiB of 50.0 GiB free in /tmp'],
    ]);
    await desk.redis.flushdb();
    await running('pool', {}, { workers, upMs: 59_000 });
    expect(await mistakesWith(desk.settings)).to.deep.equal([]);
    await running('pool', {}, { workers, upMs: 2 * 60_000 });
    expect((await mistakesWith(desk.settings)).map(({ code }) => code)).to.deep.equal(['no_worker', 'no_sweep']);
  });

  it('names mixed releases once a deploy must have ended', async () => {
    await running('pool');
    await running('gateway', {}, { release: '0.2.0', upMs: 20_000 });
    expect(await mistakesWith(desk.settings)).to.deep.equal([]);
    await running('gateway', {}, { release: '0.2.0', upMs: hourMs });
    await running('console', {}, { upMs: 2 * hourMs });
    await running('pool', {}, { upMs: 3 * hourMs });
    const codes = await mistakesWith(desk.settings);
    expect(codes.map(({ code }) => code)).to.deep.equal(['releases_differ', 'no_sweep']);
    expect(codes[0]?.problem).to.include('0.2.0 for gateway web-1:210').and.include('0.1.0 for worker pool web-1:210');
  });

  it('names processes without a worker pool', async () => {
    await running('gateway');
    expect((await onlyMistake()).code).to.equal('no_pool');
  });

  it('passes over a process that has not noted itself for 35 s, and the next note removes it', async () => {
    await running('gateway', {}, { clockAheadMs: 9_000 });
    await running('pool');
    const [field = '', note = ''] = Object.entries(await desk.redis.hgetall(processesKey)).flatMap(([id, text]) =>
      id.startsWith('gateway') ? [id, text] : [],
    );
    const [notedMs = ''] = note.split(' ');
    await desk.redis.hset(processesKey, field, note.replace(notedMs, String(Number(notedMs) - 36_000)));
    expect(await mistakesWith(desk.settings)).to.deep.equal([]);
    expect(await desk.redis.hkeys(processesKey)).to.include(field);
    await running('pool');
    expect(await desk.redis.hkeys(processesKey)).to.not.include(field);
  });

  describe('beside a running service', () => {
    let service: RunningService;
    let settings: Settings;

    before(async function () {
      this.timeout(startTimeoutMs);
      service = await runningService({ withRunner: true, environment: { LANES: '1' } });
      const url = new URL((await testServers()).mongoUrl);
      url.pathname = service.stores.database.databaseName;
      settings = {
        REDIS_URL: service.redisServer.url,
        MONGODB_URL: String(url),
        KEY_PEPPER: service.keyPepper,
        CLOCK_OFFSET_MS: String(Math.round((service.clock.now() - Date.now()) / hourMs) * hourMs),
      };
    });
    after(async function () {
      this.timeout(startTimeoutMs);
      await service?.stop();
    });

    const status = async () => JSON.parse((await callCli(['status', '--json'], settings)).stdout);

    it('finds no mistake, and status shows processes, workers and sweeps', async () => {
      const shown = await eventually(async () => {
        const document = await status();
        expect(document.processes).to.have.length(3);
        expect(document.lanes[0]).to.deep.equal({
          lane: 'singles',
          partitions: [1],
          workers_ready: 2,
          workers_wanted: 2,
          backlog_seconds: 0,
          oldest_chunk_seconds: 0,
        });
        expect(document.sweeps.length).to.be.greaterThan(0);
        return document;
      }, 25_000);
      expect(shown.processes.map(({ kind }: { kind: string }) => kind)).to.deep.equal([
        'gateway',
        'worker pool',
        'runner',
      ]);
      expect(shown.processes[0]).to.include({
        host: hostname(),
        pid: service.stack.gateways[0]?.pid,
        release: ownRelease(),
      });
      expect(await mistakesWith(settings)).to.deep.equal([]);
      const { stdout } = await callCli(['status'], settings);
      expect(stdout).to.match(/^Process +Machine +PID +Release +Up +Noted\n/);
      expect(stdout).to.match(/\ngateway +\S+ +\d+ +\d\S+ +\S+ (s|min \d\d s) +\d+\.\d s ago\n/);
      expect(stdout).to.match(/\nsingles +1 +2 +2 +0\.0 s +0\.0 s\n/);
    });

    it('names a further gateway with other settings, which status forgets when it has stopped', async () => {
      const other = await service.startGateway({ LANES: '2', LEGACY_ALIASES: 'gone' });
      const mistakes = await eventually(async () => {
        const found = await mistakesWith(settings);
        expect(found).to.have.length(2);
        return found;
      });
      expect(mistakes.map(({ problem }) => problem).join('\n'))
        .to.match(new RegExp(`^LANES differs: 1 for .*; 2 for gateway ${hostname()}:${other.pid}\n`))
        .and.include(`gone for gateway ${hostname()}:${other.pid}`);
      await other.stop();
      expect((await status()).processes).to.have.length(3);
    }).timeout(60_000);
  });
});
