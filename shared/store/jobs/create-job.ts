import { type Collection, type Db, MongoServerError } from 'mongodb';
import { duplicateKey, type WriteOptions, withMongoTimeout } from '../connection/connect.js';
import { inTransaction } from '../connection/transaction.js';
import { idsOfOrganisation, type Job, unfinishedStates } from './job-documents.js';

const timeoutMs = 5_000;

/** One document of `job_locks`: creations of an organisation change it, so they exclude each other. */
interface JobLock {
  readonly _id: string;
  readonly created: number;
}

/** The key of jobs that people create in the console. They count in the bucket `live`. */
export const consoleKeyId = 'console';

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
  await prepareJobLock(database, job.org);
  try {
    await inTransaction(
      database.client,
      async (options) => {
        if (!(await insertJob(database, job, maxUnfinished, options))) throw new TooMany();
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

/**
 * Stores the lock of an organisation, before the transaction of `insertJob`. Two transactions that insert the same lock
 * fail with an error that is not repeated.
 */
export async function prepareJobLock(database: Db, organisationId: string): Promise<void> {
  await withMongoTimeout(timeoutMs, () =>
    locksOf(database).updateOne({ _id: organisationId }, { $setOnInsert: { created: 0 } }, { upsert: true }),
  );
}

/** Stores a job in a transaction: see `createJob`. @returns false if the organisation has too many unfinished jobs */
export async function insertJob(
  database: Db,
  job: Job,
  maxUnfinished: number,
  options: Partial<WriteOptions>,
): Promise<boolean> {
  const jobs = database.collection<Job>('jobs');
  await locksOf(database).updateOne({ _id: job.org }, { $inc: { created: 1 } }, options);
  const unfinished = { _id: idsOfOrganisation(job.org), org: job.org, state: { $in: [...unfinishedStates] } };
  if ((await jobs.countDocuments(unfinished, options)) >= maxUnfinished) return false;
  await jobs.insertOne(job, options);
  return true;
}

const locksOf = (database: Db): Collection<JobLock> => database.collection<JobLock>('job_locks');
