import { type Db, MongoServerError } from 'mongodb';
import { duplicateKey, withMongoTimeout } from '../connection/connect.js';
import { inTransaction } from '../connection/transaction.js';
import { idsOfOrganisation, type Job, unfinishedStates } from './job-documents.js';

const timeoutMs = 5_000;

/** One document of `job_locks`: creations of an organisation change it, so they exclude each other. */
interface JobLock {
  readonly _id: string;
  readonly created: number;
}

/** Too many jobs of the organisation are unfinished. */
class TooMany extends Error {}

/**
 * Stores a job, unless its organisation has as many unfinished jobs as it may have. Exact, also for calls at the same
 * time.
 * @returns `duplicate` if another job of the organisation and bucket has its Idempotency-Key
 */
export async function createJob(
  database: Db,
  job: Job,
  maxUnfinished: number,
): Promise<'created' | 'duplicate' | 'too many'> {
  const locks = database.collection<JobLock>('job_locks');
  const jobs = database.collection<Job>('jobs');
  // Outside of the transaction: two transactions that insert the same lock fail with an error that is not repeated.
  await withMongoTimeout(timeoutMs, () =>
    locks.updateOne({ _id: job.org }, { $setOnInsert: { created: 0 } }, { upsert: true }),
  );
  try {
    await inTransaction(
      database.client,
      async (options) => {
        await locks.updateOne({ _id: job.org }, { $inc: { created: 1 } }, options);
        const unfinished = { _id: idsOfOrganisation(job.org), org: job.org, state: { $in: [...unfinishedStates] } };
        if ((await jobs.countDocuments(unfinished, options)) >= maxUnfinished) throw new TooMany();
        await jobs.insertOne(job, options);
      },
      { timeoutMs },
    );
    return 'created';
  } catch (error) {
    if (error instanceof TooMany) return 'too many';
    if (error instanceof MongoServerError && error.code === duplicateKey) return 'duplicate';
    throw error;
  }
}
