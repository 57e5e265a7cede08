import type { Logger } from '../../shared/process/logger.js';
import { ownLevel } from '../../shared/process/release.js';
import { connectMongo } from '../../shared/store/connection/connect.js';
import { contractSchema } from '../../shared/store/schema/contract-schema.js';
import { migrateSchema } from '../../shared/store/schema/migrate-schema.js';
import { readSchemaState, type SchemaRun } from '../../shared/store/schema/schema-state.js';
import type { SchemaStep } from '../../shared/store/schema/schema-steps.js';

/**
 * Changes the database as this release needs it, before `npm start` or `npm run dev` starts processes: these two have
 * no operator who runs `leadscore migrate`. The contract steps of the upgrade before run first: its older processes
 * have stopped.
 * @throws Error that says what to check; the driver's error
 */
export async function migrateFirst(mongoUrl: string, logger: Pick<Logger, 'info'>): Promise<void> {
  const { client, database } = await connectMongo(mongoUrl, { name: 'leadscore-migrate' });
  try {
    const seen = {
      onStep: ({ level, name }: Pick<SchemaStep, 'level' | 'name'>) =>
        logger.info({ level, step: name }, 'changing the database for this release'),
      onWait: ({ by, step }: SchemaRun) =>
        logger.info({ by, step }, 'waiting for another process that changes the database'),
    };
    if (((await readSchemaState(database))?.at ?? 0) < ownLevel) await contractSchema(database, seen);
    await migrateSchema(database, seen);
  } finally {
    await client.close();
  }
}
