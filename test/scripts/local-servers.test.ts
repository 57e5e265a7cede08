import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { startMongo } from '../../scripts/servers/mongo-server.js';
import { privateServers, readPrivateServers, readServerRecord } from '../../scripts/servers/private-servers.js';
import { startRedis } from '../../scripts/servers/redis/redis-server.js';
import { freePort, isRunningOn, type LocalServer } from '../../scripts/servers/server-process.js';
import { projectFile } from '../../shared/process/project-root.js';
import { freshDatabases } from '../support/service/servers.js';

describe('local servers', () => {
  let directory: string;
  let toEnd: (() => unknown)[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-local-servers-'));
    toEnd = [];
  });

  afterEach(async () => {
    await Promise.all(toEnd.map((end) => end())); // also when an assertion failed
    await rm(directory, { recursive: true, force: true });
  });

  const kept = async <Server extends { stop(): Promise<void> }>(starting: Promise<Server>): Promise<Server> => {
    const server = await starting;
    toEnd.push(() => server.stop());
    return server;
  };
  const isGone = async (server: LocalServer): Promise<boolean> => !(await isRunningOn({ pid: server.pid, directory }));

  it('findServer rejects a program that is too old or does not run, and lists it', async () => {
    const programs = {
      old: 'echo "Redis server v=6.2.7 sha=0"',
      broken: 'exit 1',
      good: 'echo "Redis server v=7.2.4 sha=0"',
    };
    const folders = Object.keys(programs).map((name) => join(directory, name));
    for (const [name, line] of Object.entries(programs)) {
      await mkdir(join(directory, name));
      await writeFile(join(directory, name, 'redis-server'), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    }
    const lookUp: typeof import('../../scripts/setup/find-server.mjs') = await import(
      pathToFileURL(projectFile('scripts/setup/find-server.mjs')).href
    );
    const searchPath = folders.join(delimiter);
    expect(await lookUp.findServer({ server: 'redis', root: directory, searchPath })).to.deep.equal({
      found: { path: join(directory, 'good', 'redis-server'), version: '7.2.4' },
      rejected: [
        `${join(directory, 'old', 'redis-server')} is 6.2.7, too old`,
        `${join(directory, 'broken', 'redis-server')} does not run`,
      ],
    });
  });

  it('startRedis starts a Redis with noeviction that keeps its data over a restart and is gone after stop', async () => {
    const first = await kept(startRedis({ directory }));
    await withRedis(first.url, async (redis) => {
      expect(await redis.config('GET', 'maxmemory-policy')).to.deep.equal(['maxmemory-policy', 'noeviction']);
      await redis.set('kept', 'yes');
    });
    await first.stop();
    expect(await isGone(first)).to.equal(true);

    const second = await kept(startRedis({ directory }));
    await withRedis(second.url, async (redis) => expect(await redis.get('kept')).to.equal('yes'));
    await second.stop();
    expect(await isGone(second)).to.equal(true);
  });

  it('startRedis listens on the given port, and passes extra arguments', async () => {
    const port = await freePort();
    const extraArguments = ['--maxmemory', '32mb'];
    const redis = await kept(startRedis({ directory, port, appendOnly: false, extraArguments }));
    expect(redis.url).to.equal(`redis://127.0.0.1:${port}`);
    await withRedis(redis.url, async (client) => {
      expect(await client.config('GET', 'appendonly')).to.deep.equal(['appendonly', 'no']);
      expect(await client.config('GET', 'maxmemory')).to.deep.equal(['maxmemory', String(32 * 1024 * 1024)]);
    });
    await redis.stop();
  });

  it('startRedis rejects with the end of the log when the given port is taken', async () => {
    const first = await kept(startRedis({ directory, appendOnly: false }));
    const failure = await startRedis({ directory: join(directory, 'other'), port: first.port }).catch(String);
    await first.stop();
    expect(failure).to.match(/did not start on port \d+.*address already in use/is);
  });

  it('stop ends a Redis that SIGSTOP has stopped', async () => {
    const redis = await kept(startRedis({ directory }));
    redis.process.kill('SIGSTOP');
    await redis.stop();
    expect(await isGone(redis)).to.equal(true);
  });

  it('startMongo starts a primary with transactions, also on an existing directory with another port', async () => {
    const first = await kept(startMongo({ directory }));
    await withMongo(first.url, async (mongo) => {
      const records = mongo.db('sample').collection('records');
      const calls = mongo.db('sample').collection('calls');
      await mongo.withSession((session) =>
        session.withTransaction(async () => {
          await records.insertOne({ name: 'Ada' }, { session });
          await calls.insertOne({ records: 1 }, { session });
        }),
      );
      const abort = new Error('abort');
      const failed = mongo.withSession((session) =>
        session.withTransaction(async () => {
          await records.insertOne({ name: 'Bob' }, { session });
          throw abort;
        }),
      );
      expect(await failed.catch((error: unknown) => error)).to.equal(abort);
    });
    await first.stop();
    expect(await isGone(first)).to.equal(true);

    const second = await kept(startMongo({ directory }));
    expect(second.port).not.to.equal(first.port);
    await withMongo(second.url, async (mongo) => {
      const names = await mongo.db('sample').collection('records').distinct('name');
      expect(names).to.deep.equal(['Ada']);
      await mongo
        .db('sample')
        .collection('records')
        .insertOne({ name: 'Cleo' }, { writeConcern: { w: 'majority' } });
    });
    await second.stop();
    expect(await isGone(second)).to.equal(true);
  });

  it('startMongo waits for mongod while another program answers on its earlier port', async () => {
    const first = await kept(startMongo({ directory }));
    await first.stop();
    // mongod asks on this port whether it is there itself. Then it closes all connections.
    let questions = 0;
    const other = createServer((socket) => {
      questions += 1;
      socket.on('error', () => undefined);
      setTimeout(() => socket.destroy(), 1_000);
    }).listen(first.port, '127.0.0.1');
    toEnd.push(() => other.close());
    await once(other, 'listening');
    const second = await kept(startMongo({ directory }));
    expect(questions).to.be.above(0);
    await withMongo(second.url, (mongo) => mongo.db('sample').collection('records').insertOne({ name: 'Ada' }));
  });

  it('startMongo keeps a write that a majority has confirmed, also when mongod is killed at once', async () => {
    const first = await kept(startMongo({ directory }));
    await withMongo(first.url, async (mongo) => {
      const { parsed } = await mongo.db('admin').command({ getCmdLineOpts: 1 });
      expect(parsed.storage.journal.commitIntervalMs).to.equal(500);
      const { configString } = parsed.storage.wiredTiger.engineConfig;
      expect(configString).to.equal('eviction_dirty_target=30,eviction_dirty_trigger=50');
      const records = mongo.db('sample').collection('records');
      for (const name of ['Ada', 'Bob', 'Cleo']) await records.insertOne({ name }, { writeConcern: { w: 'majority' } });
      first.process.kill('SIGKILL');
    });
    await first.stop();
    const second = await kept(startMongo({ directory }));
    await withMongo(second.url, async (mongo) => {
      const names = await mongo.db('sample').collection('records').distinct('name');
      expect(names).to.deep.equal(['Ada', 'Bob', 'Cleo']);
    });
  });

  it('readPrivateServers finds running privateServers, which keep their data with `keep` and refuse a second owner', async () => {
    const data = join(directory, 'data');
    const servers = await kept(privateServers({ directory: data, keep: true }));
    const { redisUrl, mongoUrl, keyPepper } = servers;
    expect(await readPrivateServers(directory)).to.deep.equal({ redisUrl, mongoUrl, keyPepper });
    await withRedis(redisUrl, (redis) => redis.set('kept', 'yes'));
    const refusal = await privateServers({ directory: data, keep: true }).catch(String);
    expect(refusal).to.include('already runs').and.to.include(String(process.pid));
    await servers.stop();
    expect(await readPrivateServers(directory)).to.equal(undefined);

    const again = await kept(privateServers({ directory: data, keep: false }));
    expect(again.keyPepper).to.equal(keyPepper);
    await withRedis(again.redisUrl, async (redis) => expect(await redis.get('kept')).to.equal('yes'));
    await again.stop();
    expect(await exists(data)).to.equal(false);
  });

  it('privateServers makes a random KEY_PEPPER for each directory, which only this user can read', async () => {
    const peppers = [];
    for (const name of ['one', 'two']) {
      const data = join(directory, name);
      const servers = await kept(privateServers({ directory: data, keep: true, redisUrl: 'redis://x', mongoUrl: 'm' }));
      peppers.push(servers.keyPepper);
      expect((await stat(join(data, 'pepper'))).mode & 0o777).to.equal(0o600);
    }
    expect(peppers[0])
      .to.match(/^[0-9A-Za-z]{43}$/)
      .and.not.equal(peppers[1]);
  });

  it('privateServers resolves `ended` with the name and signal of the server that ended', async () => {
    const servers = await kept(privateServers({ directory, keep: true }));
    const redisPid = (await readServerRecord(directory))?.serverPids[1] ?? 0;
    process.kill(redisPid, 'SIGKILL');
    expect(await servers.ended).to.equal('the private Redis ended: SIGKILL');
    await servers.stop();
  });

  it('privateServers starts only the server without a given URL', async () => {
    const mongoUrl = 'mongodb://127.0.0.1:1/';
    const servers = await kept(privateServers({ directory, keep: true, mongoUrl }));
    expect(servers.mongoUrl).to.equal(mongoUrl);
    expect((await readServerRecord(directory))?.serverPids).to.have.length(1);
    await withRedis(servers.redisUrl, async (redis) => expect(await redis.ping()).to.equal('PONG'));
    await servers.stop();
  });

  it('privateServers takes over the directory of a killed process and ends its servers', async () => {
    const crashing = await ownerProcess(directory);
    toEnd.push(() => crashing.kill('SIGKILL'));
    const left = await readServerRecord(directory);
    expect(left?.serverPids).to.have.length(2);
    crashing.kill('SIGKILL');
    await once(crashing, 'exit');

    const servers = await kept(privateServers({ directory, keep: true }));
    for (const pid of left?.serverPids ?? []) expect(await isRunningOn({ pid, directory })).to.equal(false);
    await servers.stop();
  });

  it('private servers end when the process that started them is killed', async () => {
    const crashing = await ownerProcess(directory);
    toEnd.push(() => crashing.kill('SIGKILL'));
    const pids = (await readServerRecord(directory))?.serverPids ?? [];
    const servers = pids.map((pid) => ({ pid, directory }));
    expect(await Promise.all(servers.map(isRunningOn))).to.deep.equal([true, true]);
    crashing.kill('SIGKILL');
    await ended(servers);
    expect(await Promise.all(servers.map(isRunningOn))).to.deep.equal([false, false]);
  });

  it('freshDatabases returns an empty Redis and a new database name at each call', async () => {
    const first = await freshDatabases();
    await withRedis(first.redisUrl, (redis) => redis.set('left', 'over'));
    const second = await freshDatabases();
    expect(second.databaseName).not.to.equal(first.databaseName);
    await withRedis(second.redisUrl, async (redis) => expect(await redis.dbsize()).to.equal(0));
    await withMongo(second.mongoUrl, async (mongo) => {
      expect(mongo.db().databaseName).to.equal(second.databaseName);
      expect(await mongo.db().collection('any').insertOne({})).to.have.property('acknowledged', true);
    });
  });
});

async function withRedis<Result>(url: string, use: (redis: Redis) => Promise<Result>): Promise<Result> {
  const redis = new Redis(url);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

async function withMongo<Result>(url: string, use: (mongo: MongoClient) => Promise<Result>): Promise<Result> {
  const mongo = new MongoClient(url);
  try {
    return await use(mongo);
  } finally {
    await mongo.close();
  }
}

/** Another Node process that has started private servers on a directory. */
async function ownerProcess(directory: string): Promise<ChildProcess> {
  const module = pathToFileURL(projectFile('dist/scripts/servers/private-servers.js')).href;
  const script = `
    import { privateServers } from ${JSON.stringify(module)};
    await privateServers({ directory: ${JSON.stringify(directory)}, keep: true });
    process.stdout.write('started');`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(owner.stdout, 'data');
  return owner;
}

/** Polls: these are no children of this process, so it gets no exit event. */
async function ended(servers: readonly { pid: number; directory: string }[]): Promise<void> {
  while ((await Promise.all(servers.map(isRunningOn))).some(Boolean)) await pause(50);
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
