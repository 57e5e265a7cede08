import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import { JobStore } from '../../../shared/store/jobs/jobs.js';
import type { JobStores } from '../../../shared/store/jobs/remove-job.js';
import { freshDatabases } from '../service/servers.js';

/** The stores of jobs in a prepared database of its own. The caller closes the client. */
export async function freshJobStores(): Promise<JobStores & { readonly mongo: Mongo }> {
  const mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
  await prepareDatabase(mongo.database);
  return { mongo, ...jobStoresIn(mongo) };
}

/** New objects for the same stores, of which a test may replace methods. */
export const jobStoresIn = ({ database }: Mongo): JobStores => ({
  jobs: new JobStore(database),
  slices: new SliceStore(database),
  uploads: new JobUploadStore(database),
});
