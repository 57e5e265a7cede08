import type { Logger } from '../../shared/process/logger.js';
import { connectMongo } from '../../shared/store/connection/connect.js';
import { migrateSchema } from '../../shared/store/schema/migrate-schema.js';

/**
 * Changes the database as this release needs it, before `npm start` or `npm run dev` starts processes: these two have
 * no operator who runs `leadscore migrate`.
 * @throws Error that says what to check; the driver's error
 */
export async function migrateFirst(mongoUrl: string, logger: Pick<Logger, 'info'>): Promise<void> {
  const { client, database } = await connectMongo(mongoUrl, { name: 'leadscore-migrate' });
  try {
    await migrateSchema(database, {
      onStep: ({ level, name }) => logger.info({ level, step: name }, 'changing the database for this release'),
      onWait: ({ by, step }) => logger.info({ by, step }, 'waiting for another process that changes the database'),
    });
  } finally {
    await client.close();
  }
}
