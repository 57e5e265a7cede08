import { randomUUID } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Action, Actor, AdminContext } from '../../../shared/admin/action.js';
import { runAction } from '../../../shared/admin/run-action.js';
import { machineClock, monthOf } from '../../../shared/contract/dates.js';
import type { Role } from '../../../shared/contract/roles.js';
import type { Schema, ShapeOf } from '../../../shared/contract/schema.js';
import type { UsageBucket } from '../../../shared/redis/keys.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { connectMongo, type Db } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { type AuditEntry, AuditLog } from '../../../shared/store/console/audit-log.js';
import { freshDatabases } from '../service/servers.js';

/** A prepared database, and actions on it. */
export interface AdminDesk {
  readonly redisUrl: string;
  readonly mongoUrl: string;
  readonly database: Db;
  readonly redis: Redis;
  readonly context: AdminContext;
  /** Does an action, by default as an operator, and checks its reply against its schema. */
  act<Input extends Schema, Output extends Schema, Prepared>(
    action: Action<Input, Output, undefined, Prepared>,
    input: unknown,
    actor?: Partial<Actor>,
  ): Promise<ShapeOf<Output>>;
  /** The latest entries of the audit log, latest first. */
  audit(organisationId: string): Promise<AuditEntry[]>;
  /** The records of an organisation in the ledger of this month. */
  ledgerSum(organisationId: string, bucket?: UsageBucket): Promise<number>;
  leave(): Promise<void>;
}

const operator: Actor = {
  ...{ name: 'Olga', way: 'link', role: 'operator' },
  organisationId: undefined,
  address: '192.0.2.7',
} as const;

/** A person of an organisation. */
export const personOf = (organisationId: string, role: Role): Partial<Actor> => ({ name: 'Ada', role, organisationId });

/**
 * @param given members of the context of each action
 * @param databases for a test that makes one of them itself
 */
export async function adminDesk(given: Partial<AdminContext> = {}, databases = freshDatabases()): Promise<AdminDesk> {
  const { redisUrl, mongoUrl } = await databases;
  const { client, database } = await connectMongo(mongoUrl, { name: 'test' });
  await prepareDatabase(database);
  const redis = new Redis(redisUrl);
  const context: AdminContext = {
    ...{ client, database, actor: operator, leaseMs: 30_000, auditsReads: true },
    clock: machineClock(),
    requestId: randomUUID(),
    redis: async () => redis,
    keySettings: async () => ({ brand: 'leadscore', pepper: 'pepper-of-the-tests' }),
    consoleUrl: 'https://console.example.com',
    apiUrl: 'https://scoring.example.com',
    notAnnounced: (error) => {
      throw error;
    },
    ...given,
  };
  return {
    ...{ redisUrl, mongoUrl, database, redis, context },
    act: async (action, input, actor = {}) => {
      const output = await runAction(action, input, { ...context, actor: { ...operator, ...actor } });
      expectShape(action.output, output);
      return output;
    },
    audit: (organisationId) => new AuditLog(database).latest(organisationId, 100),
    ledgerSum: (organisationId, bucket = 'live') =>
      new UsageLedger(database).sum({ organisationId, bucket, month: monthOf(context.clock.now()) }),
    leave: async () => {
      redis.disconnect();
      await client.close();
    },
  };
}

const ajv = new Ajv2020({ strict: true, strictTypes: false, unicodeRegExp: true, validateFormats: false });

/** Asserts that a value, as JSON, has the shape of a schema. */
export function expectShape(schema: Schema, value: unknown): void {
  const validate = ajv.compile(schema);
  expect(validate(JSON.parse(JSON.stringify(value))), JSON.stringify(validate.errors)).to.equal(true);
}
