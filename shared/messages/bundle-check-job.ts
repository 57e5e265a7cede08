import { Queue } from 'bullmq';
import type { Redis } from '../redis/connect.js';
import { queuePrefix, queueStreams } from '../redis/keys.js';
import type { ExplainMethod } from './score-job.js';

/** The queue of uploaded bundles that wait for their check. A queue of its own: a check may take minutes. */
export const bundleCheckQueueName = 'bundle-checks';

/** A job in the queue. */
export interface BundleCheckJob {
  readonly uploadId: string;
}

/** Messages of the process that checks a bundle to its pool, over the IPC channel: `read`, then `checked`; or `failed`. */
export type BundleCheckMessage =
  | { readonly kind: 'read'; readonly manifest: CheckedManifest; readonly notes: readonly string[] }
  | {
      readonly kind: 'checked';
      readonly explainMethod: ExplainMethod;
      readonly contributions: readonly MeanContribution[];
      /** The notes of `read`, after the reason for occlusion. */
      readonly notes: readonly string[];
      /** Null for a bundle without golden records. */
      readonly golden: { readonly records: number; readonly matching: number } | null;
      /** Null if all golden records came out as expected. */
      readonly problem: string | null;
    }
  | { readonly kind: 'failed'; readonly problem: string };

/** How much one field moves the scores of the golden records on average, in log-odds: up, and down (negative). */
export interface MeanContribution {
  readonly field: string;
  readonly label: string;
  readonly raises: number;
  readonly lowers: number;
}

/** The parts of a manifest that people recognise it by. */
export interface CheckedManifest {
  readonly name: string;
  readonly version: string;
  readonly family: 'forward' | 'timing';
  readonly features: number;
}

const jobOptions = {
  removeOnComplete: true,
  removeOnFail: { count: 100 },
  attempts: 3,
  backoff: { type: 'exponential', delay: 2_000 },
} as const;

/** Queues the check of an upload. @throws the error of Redis */
export async function requestBundleCheck(redis: Redis, uploadId: string): Promise<void> {
  const options = { connection: redis, prefix: queuePrefix, streams: queueStreams };
  const queue = new Queue<BundleCheckJob>(bundleCheckQueueName, options);
  try {
    await queue.add('check', { uploadId }, { ...jobOptions, jobId: uploadId });
  } finally {
    await queue.close();
  }
}
