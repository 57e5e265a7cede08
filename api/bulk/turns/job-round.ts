import type { Job } from '../../../shared/store/jobs/job-documents.js';

/** The load of a runner, as far as it knows. */
export interface RunnerLoad {
  /** Whether this process could take another turn. */
  readonly hasFreeTurn: boolean;
  /** Jobs that wait for a turn, of all runners. */
  readonly waiting: number;
}

/**
 * Chooses the jobs that take turns, so that organisations share the runners equally. While jobs wait for a turn, the
 * round has the oldest job of each organisation. While a runner has nothing to do, further jobs join.
 */
export class JobRound {
  /** Jobs of each organisation in the round. */
  private depth = 1;
  private chosen: ReadonlySet<string> = new Set();

  /**
   * @param running all jobs that can go on, those of an organisation oldest first
   * @returns the ids of those that take turns now
   */
  choose(running: readonly Pick<Job, '_id' | 'org'>[], { hasFreeTurn, waiting }: RunnerLoad): ReadonlySet<string> {
    const ranks = ranksOf(running);
    const deepest = Math.max(1, ...ranks.values());
    if (waiting > 0) this.depth = 1;
    else if (hasFreeTurn) this.depth = Math.min(deepest, this.depth + 1);
    this.chosen = new Set([...ranks].filter(([, rank]) => rank <= this.depth).map(([id]) => id));
    return this.chosen;
  }

  /** Whether a job may take another turn, behind the others. */
  mayGoOn(jobId: string, waiting: number): boolean {
    return waiting === 0 || this.chosen.has(jobId);
  }
}

/** The number of each job among those of its organisation, from 1. */
function ranksOf(running: readonly Pick<Job, '_id' | 'org'>[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const ranks = new Map<string, number>();
  for (const { _id, org } of running) {
    const rank = (counts.get(org) ?? 0) + 1;
    counts.set(org, rank);
    ranks.set(_id, rank);
  }
  return ranks;
}
