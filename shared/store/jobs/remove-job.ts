import type { SliceStore } from './job-slices.js';
import type { JobUploadStore } from './job-uploads.js';
import type { JobStore } from './jobs.js';

/** The stores that have the documents of a job. */
export interface JobStores {
  readonly jobs: JobStore;
  readonly slices: SliceStore;
  readonly uploads: JobUploadStore;
}

/**
 * Removes a job with all its files. The job itself comes last, so a removal that failed half-way can be repeated.
 * @param jobId also of a job that was removed before
 * @throws errors of MongoDB
 */
export async function removeJob({ jobs, slices, uploads }: JobStores, jobId: string): Promise<void> {
  await Promise.all([slices.removeJob(jobId), uploads.remove(jobId)]);
  await jobs.remove(jobId);
}
