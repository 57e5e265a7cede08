import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import type { LocalServer } from '../../../scripts/servers/server-process.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { eventually } from '../../support/eventually.js';
import { mongodWith } from '../../support/service/mongod-with.js';

const password = 'hunter2';
const electedWithinMs = 20_000;

describe('a MongoDB with authentication', () => {
  let directory: string;
  let server: LocalServer;

  before(async function () {
    this.timeout(60_000);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-rights-'));
    const keyFile = join(directory, 'key');
    await writeFile(keyFile, 'key of the replica set members', { mode: 0o400 });
    server = await mongodWith(directory, ['--replSet', 'rs0', '--keyFile', keyFile]);
    const members = [{ _id: 0, host: `127.0.0.1:${server.port}` }];
    // MongoDB allows this from its own machine until the first user exists.
    const anonymous = new MongoClient(address('', '?directConnection=true'));
    await anonymous.db('admin').command({ replSetInitiate: { _id: 'rs0', members } });
    await eventually(async () => {
      const { isWritablePrimary } = await anonymous.db('admin').command({ hello: 1 });
      expect(isWritablePrimary).to.equal(true);
    }, electedWithinMs);
    await anonymous.db('admin').command({ createUser: 'admin', pwd: password, roles: ['root'] });
    await anonymous.close();
    const admin = new MongoClient(address(`admin:${password}@`, '?directConnection=true'));
    for (const role of ['read', 'readWrite'])
      await admin.db('admin').command({ createUser: role, pwd: password, roles: [{ role, db: 'leadscore' }] });
    await admin.db('admin').command({ createUser: 'elsewhere', pwd: password, roles: [] });
    await admin.close();
  });
  after(async function () {
    this.timeout(60_000);
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const address = (user: string, options: string) => `mongodb://${user}127.0.0.1:${server.port}/${options}`;

  /** The message with which a start fails. */
  async function refusal(user: string): Promise<string> {
    try {
      const url = address(user, 'leadscore?replicaSet=rs0&authSource=admin');
      const { client, database } = await connectMongo(url, { name: 'leadscore-test' });
      await prepareDatabase(database).finally(() => client.close());
      return 'not refused';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  it('asks for a user and a password when MONGODB_URL has none', async () => {
    expect(await refusal('')).to.include('MongoDB asks for a user and a password');
  });

  it('names the missing role when the user may not read or write', async () => {
    for (const user of ['elsewhere', 'read'])
      expect(await refusal(`${user}:${password}@`), user).to.include('give it the role readWrite');
  });

  it('connects and creates the indexes when the user has the role readWrite', async () => {
    expect(await refusal(`readWrite:${password}@`)).to.equal('not refused');
  });
});
