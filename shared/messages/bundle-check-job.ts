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

/** Messages of the process that checks a bundle, over the IPC channel: `read`, then `checked`; or `failed`. */
export type BundleCheckMessage =
  | ({ readonly kind: 'read' } & ReadBundle)
  | ({ readonly kind: 'checked' } & CheckedModel)
  | ({ readonly kind: 'failed' } & FailedCheck);

/** A bundle whose members are right. Its model has not run yet. */
export interface ReadBundle {
  readonly manifest: CheckedManifest;
  /** See `bundleDigest`. */
  readonly digest: string;
  readonly notes: readonly string[];
}

/** A bundle whose model runs, and gives each record one answer. */
export interface CheckedModel {
  readonly explainMethod: ExplainMethod;
  /** Reason for occlusion instead of an exact method; undefined for an exact method. */
  readonly fallbackReason: string | undefined;
  /** Strongest first; empty without golden records. */
  readonly contributions: readonly MeanContribution[];
  /** Remarks on the model's answers. */
  readonly notes: readonly string[];
  /** Undefined for a bundle without golden records. */
  readonly golden: GoldenComparison | undefined;
}

export interface FailedCheck {
  readonly problem: string;
  /** False if the check failed for another reason than the bundle. */
  readonly isRefusal: boolean;
  /** The file at fault, if it is known. */
  readonly member?: string;
}

/** Results of a bundle's golden records compared with the expected ones. */
export interface GoldenComparison {
  readonly records: number;
  /** Largest difference of the raw probability; undefined when no record expects one. */
  readonly maxRawDifference: number | undefined;
  /** Largest difference of a field's contribution; undefined when no record expects one. */
  readonly maxContributionDifference: number | undefined;
  readonly scoreMismatches: number;
  readonly likelihoodMismatches: number;
  /** The first ten records that differ, one sentence each. */
  readonly differences: readonly string[];
  /** True when all differences are within tolerance. */
  readonly passed: boolean;
}

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
