import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import timers from 'node:timers';
import { expect } from 'chai';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { mongodWith } from '../../support/service/mongod-with.js';
import { freshDatabases } from '../../support/service/servers.js';

const password = 'hunter2';

describe('connectMongo', () => {
  let directory: string;
  let standalone: LocalServer;
  let uninitiated: LocalServer;
  let replicaSetUrl: string;

  before(async function () {
    this.timeout(60_000);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-connect-'));
    standalone = await mongodWith(directory, []);
    uninitiated = await mongodWith(directory, ['--replSet', 'rs0']);
    replicaSetUrl = (await freshDatabases()).mongoUrl;
  });
  after(async function () {
    this.timeout(60_000);
    await Promise.all([standalone?.stop(), uninitiated?.stop()]);
    await rm(directory, { recursive: true, force: true });
  });

  /** The message of a refused connection. */
  async function refusal(url: string, maxWaitMs = 500): Promise<string> {
    try {
      const { client } = await connectMongo(url, { name: 'leadscore-test', maxWaitMs });
      await client.close();
      return 'not refused';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  it('refuses a standalone server, and says how to start a replica set', async () => {
    const how = 'MONGODB_URL names a MongoDB that is not a replica set: start it with --replSet and run rs.initiate()';
    expect(await refusal(standalone.url)).to.equal(how);
    expect(await refusal(`${standalone.url}?directConnection=true`)).to.equal(how);
    expect(await refusal(`${standalone.url}?replicaSet=rs0`)).to.include('not a member of the replica set');
  });

  it('refuses a replica set that is not initiated', async () => {
    // On a busy machine the server takes more than half a second to say what it is.
    for (const options of ['', '?replicaSet=rs0', '?directConnection=true'])
      expect(await refusal(`${uninitiated.url}${options}`, 1_500), options).to.include('run rs.initiate()');
  });

  it('refuses a server of another replica set', async () => {
    const url = replicaSetUrl.replace('replicaSet=rs0', 'replicaSet=rs1');
    expect(await refusal(url)).to.include('not a member of the replica set');
  });

  it('names a refused login, and does not show the password', async () => {
    const said = await refusal(replicaSetUrl.replace('://', `://user:${password}@`));
    expect(said).to.include('check the user and the password').and.include('Authentication failed');
    expect(said).to.not.include('did not answer').and.not.include(password);
  });

  it('names the last error of the driver when no server answers', async () => {
    const said = await refusal(`mongodb://user:${password}@127.0.0.1:1/`);
    expect(said)
      .to.match(/^MongoDB did not answer: .*ECONNREFUSED/)
      .and.not.include(password);
  });

  it('names MONGODB_URL when the driver rejects an option, and does not show its value', async () => {
    expect(await refusal('mongodb://127.0.0.1/?foo=1')).to.equal(
      'MONGODB_URL cannot be used: option foo is not supported',
    );
    const said = await refusal(`mongodb://user:${password}@127.0.0.1/?authMechanism=${password}`);
    expect(said)
      .to.match(/^MONGODB_URL cannot be used: authMechanism /)
      .and.not.include(password);
  });

  it('reads from the primary even if MONGODB_URL has another readPreference', async () => {
    const url = `${replicaSetUrl}&readPreference=secondaryPreferred`;
    const { client, database } = await connectMongo(url, { name: 'leadscore-test' });
    try {
      const calls = database.collection('calls');
      await client.withSession((session) =>
        session.withTransaction(async () => {
          await calls.insertOne({ records: 1 }, { session });
          expect(await calls.countDocuments({}, { session })).to.equal(1);
        }),
      );
    } finally {
      await client.close();
    }
  });

  it('wakes no process ten times a second to look at its pool of connections', async () => {
    // The driver calls the member of the module.
    const setTimer = timers.setTimeout;
    const delays: (number | undefined)[] = [];
    const noting = (run: () => void, delayMs?: number) => {
      delays.push(delayMs);
      return setTimer(run, delayMs);
    };
    timers.setTimeout = Object.assign(noting, setTimer);
    try {
      const { client, database } = await connectMongo(replicaSetUrl, { name: 'leadscore-test' });
      await database.collection('settings').findOne({});
      await client.close();
    } finally {
      timers.setTimeout = setTimer;
    }
    expect(delays, 'the look itself').to.include(60_000);
    expect(delays).not.to.include(100);
  });
});
