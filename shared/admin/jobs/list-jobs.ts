import { usageBuckets } from '../../redis/keys.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { JobStore } from '../../store/jobs/jobs.js';
import { defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { listJobsInput, listJobsOutput } from '../schemas/jobs.js';
import { jobDocument, jobNames } from './job-document.js';

const defaultLimit = 20;

/** The bulk jobs of an organisation, of all its keys. */
export const listJobs = defineAction({
  name: 'job.list',
  description: "List an organisation's bulk jobs, of all keys, newest first.",
  role: 'admin',
  effect: 'read',
  input: listJobsInput,
  output: listJobsOutput,
  async run({ database }, { org_id: organisationId, limit = defaultLimit }) {
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const store = new JobStore(database);
    const names = await jobNames(database, organisationId);
    const found = await Promise.all(usageBuckets.map((bucket) => store.list({ organisationId, bucket }, { limit })));
    // Ids of jobs are ordered by time.
    const newestFirst = found.flat().toSorted((one, other) => (one._id < other._id ? 1 : -1));
    return { jobs: newestFirst.slice(0, limit).map((job) => jobDocument(job, names)) };
  },
});
