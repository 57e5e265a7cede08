import type { Document } from 'mongodb';
import type { Db } from '../../../shared/store/connection/connect.js';

/** The queries that `work` makes on a database, also for further batches, as MongoDB's profiler saw them. */
export async function profiledQueries(database: Db, work: () => Promise<unknown>): Promise<Document[]> {
  await database.command({ profile: 0 });
  await database.collection('system.profile').drop();
  await database.command({ profile: 2 });
  try {
    await work();
  } finally {
    await database.command({ profile: 0 });
  }
  const isQuery = { planSummary: { $exists: true }, ns: { $not: /system\.profile$/ } };
  return await database.collection('system.profile').find(isQuery).toArray();
}
