import { Counter, Gauge, type Registry } from 'prom-client';
import type { SliceOutcome } from '../../shared/store/jobs/job-documents.js';
import { unfinishedStates } from '../../shared/store/jobs/job-documents.js';
import type { JobStore } from '../../shared/store/jobs/jobs.js';

/** Counts what a runner does. */
export interface SliceCounts {
  readonly finished: (outcome: SliceOutcome) => void;
  readonly failed: () => void;
}

/** Prometheus metrics of a runner. The number of jobs is read from MongoDB at each scrape. */
export function observeRunner(registry: Registry, jobs: Pick<JobStore, 'countInState'>): SliceCounts {
  const slices = new Counter({
    name: 'leadscore_bulk_slices_total',
    help: 'Slices of bulk jobs that this runner has finished, and attempts that failed.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const rows = new Counter({
    name: 'leadscore_bulk_rows_total',
    help: 'Rows of finished slices: scored (and counted), failed or empty.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  new Gauge({
    name: 'leadscore_bulk_jobs',
    help: 'Unfinished bulk jobs of all organisations, by state.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const state of unfinishedStates) this.set({ state }, await jobs.countInState(state));
    },
  });
  return {
    finished: ({ scored, failed, empty }) => {
      slices.inc({ outcome: 'finished' });
      for (const [outcome, count] of Object.entries({ scored, failed, empty })) rows.inc({ outcome }, count);
    },
    failed: () => slices.inc({ outcome: 'failed' }),
  };
}
