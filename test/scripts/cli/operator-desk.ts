import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type Change, subscribeToChanges } from '../../../shared/redis/changes.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { eventually } from '../../support/eventually.js';
import { type SampleOptions, sampleBundle } from '../../support/models/sample-bundle.js';
import { type FreshDatabases, freshDatabases } from '../../support/service/servers.js';
import { type Stores, storesOn } from '../../support/service/stores.js';
import { type CliResult, callCli, cliDocument } from './cli-call.js';

/** Environment of an operator: fresh databases, commands that use them, and a subscription to published changes. */
export interface OperatorDesk {
  readonly databases: FreshDatabases;
  /** Environment variables of the commands. */
  readonly settings: Readonly<Record<string, string>>;
  readonly pepper: string;
  readonly stores: Stores;
  readonly redis: Redis;
  /** Runs a command to its end. */
  run(...words: string[]): Promise<CliResult>;
  /** Runs a command with `--json` and returns its document; throws when it fails. */
  document(...words: string[]): Promise<Record<string, unknown>>;
  /** Creates an organisation on the plan `pro` and returns its id. */
  newOrganisation(...options: string[]): Promise<string>;
  /** Writes a small valid bundle into a new folder and returns its path. */
  writeBundle(options?: SampleOptions): Promise<string>;
  /** Resolves when the change has been published. */
  announced(change: Change): Promise<void>;
  /** Closes connections and removes files. */
  leave(): Promise<void>;
}

/** Creates the environment for one test file. */
export async function operatorDesk(): Promise<OperatorDesk> {
  const databases = await freshDatabases();
  const pepper = 'pepper-of-the-tests';
  const settings = { REDIS_URL: databases.redisUrl, MONGODB_URL: databases.mongoUrl, KEY_PEPPER: pepper };
  const mongo = await connectMongo(databases.mongoUrl, { name: 'test' });
  const redis = new Redis(databases.redisUrl);
  const subscriber = redis.duplicate();
  const changes: Change[] = [];
  await subscribeToChanges(subscriber, {
    onChange: (change) => changes.push(change),
    onGap: () => undefined,
  });
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-cli-'));
  const document = (...words: string[]) => cliDocument(words, settings);
  return {
    databases,
    settings,
    pepper,
    redis,
    document,
    stores: storesOn(mongo.database),
    run: (...words) => callCli(words, settings),
    newOrganisation: async (...options) =>
      String((await document('org', 'create', '--name', 'Acme', '--plan', 'pro', ...options)).org_id),
    writeBundle: async (options) => {
      const path = await mkdtemp(join(directory, 'bundle-'));
      for (const [file, bytes] of sampleBundle(options)) await writeFile(join(path, file), bytes);
      return path;
    },
    announced: (change) =>
      eventually(() => {
        expect(changes).to.deep.include(change);
      }),
    leave: async () => {
      subscriber.disconnect();
      redis.disconnect();
      await mongo.client.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
