import { type Job, jobLimits, noTotals } from '../../../shared/store/jobs/job-documents.js';
import type { JobOptions } from '../../../shared/store/jobs/job-options.js';

export const defaultOptions: JobOptions = {
  format: 'csv',
  include_input: true,
  explain: false,
  stop_at: 'limit',
  max_errors: jobLimits.defaultMaxErrors,
  previous: true,
};

/** The document of a running job that no service knows. @param members replace the default ones */
export const sampleJob = (members: Pick<Job, '_id' | 'org'> & Partial<Job>): Job => ({
  key: 'key_1',
  bucket: 'live',
  model: 'mdl_1',
  version: '1',
  options: defaultOptions,
  state: 'running',
  upload: {},
  settled: noTotals,
  revision: 0,
  created_at: new Date(0),
  purge_at: new Date('2026-12-08'),
  ...members,
});
