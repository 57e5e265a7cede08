import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type Change, subscribeToChanges } from '../../../shared/changes.js';
import { connectMongo } from '../../../shared/store/connect.js';
import { eventually } from '../../support/eventually.js';
import { type SampleOptions, sampleBundle } from '../../support/sample-bundle.js';
import { type FreshDatabases, freshDatabases } from '../../support/servers.js';
import { type Stores, storesOn } from '../../support/stores.js';
import { callCli, cliDocument } from './cli-call.js';
import type { CliResult } from './cli-process.js';

/** What an operator has: databases of their own, the commands that work on them, and an ear for announced changes. */
export interface OperatorDesk {
  readonly databases: FreshDatabases;
  /** The environment of the commands. */
  readonly settings: Readonly<Record<string, string>>;
  readonly pepper: string;
  readonly stores: Stores;
  readonly redis: Redis;
  /** Runs a command to its end. */
  run(...words: string[]): Promise<CliResult>;
  /** Runs a command with `--json` and gives its document; throws when it fails. */
  document(...words: string[]): Promise<Record<string, unknown>>;
  /** Creates an organisation on the plan `pro`; gives its id. */
  newOrganisation(...options: string[]): Promise<string>;
  /** Writes a small valid bundle into a folder of its own; gives its path. */
  writeBundle(options?: SampleOptions): Promise<string>;
  /** Resolves when the change has been announced. */
  announced(change: Change): Promise<void>;
  /** Closes connections and removes files. */
  leave(): Promise<void>;
}

/** Sets up a desk on fresh databases, for one test file. */
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
