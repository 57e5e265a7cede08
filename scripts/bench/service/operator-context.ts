import { randomUUID } from 'node:crypto';
import type { AdminContext } from '../../../shared/admin/action.js';
import { machineClock } from '../../../shared/contract/dates.js';
import type { Redis } from '../../../shared/redis/connect.js';
import type { Db } from '../../../shared/store/connection/connect.js';

/** The surroundings of an operator's actions in the console. They have no key settings. */
export const operatorContext = (database: Db, redis: Redis): AdminContext => ({
  ...{ client: database.client, database, leaseMs: 30_000, auditsReads: true, clock: machineClock() },
  requestId: randomUUID(),
  actor: { name: 'Olga', way: 'link', role: 'operator', organisationId: undefined, address: '192.0.2.7' },
  redis: async () => redis,
  keySettings: () => Promise.reject(new Error('the benchmark gives no key settings')),
  ...{ consoleUrl: undefined, apiUrl: 'https://scoring.example.com' },
  notAnnounced: (error) => {
    throw error;
  },
});
