import type { listJobsOutput } from '../../../../../shared/admin/schemas/jobs.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, instantText } from '../../parts/formats.js';
import { Card, Load, Page } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad, useRefresh } from '../../server/use-load.js';
import { fileText, hasEnded, type Job, rowsText, stateClass, stateText } from './job-words.js';

const listed = 200;
const refreshMs = 3_000;

/** The bulk jobs of the organisation, newest first: those of the console and those of keys. */
export function JobsPage() {
  const { api, base } = useOrganisation();
  const jobs = useLoad<ShapeOf<typeof listJobsOutput>>(`${api}/jobs?limit=${listed}`);
  const isMoving = jobs.data?.jobs.some(({ state }) => !hasEnded(state)) === true;
  useRefresh(jobs, refreshMs, isMoving);
  return (
    <Page
      title="Jobs"
      about="A job scores a file of leads, or stored leads again. Its rows count as those of a live key."
      actions={
        <a class="button main" href={`${base}/jobs/new`}>
          New job
        </a>
      }
    >
      <Load of={jobs}>
        {({ jobs: all }) => (
          <Card title="All jobs" about={`Files are removed some days after the end of a job.`}>
            {all.length === 0 ? (
              <p class="soft">No jobs yet. Press New job and drop a CSV or JSONL file, or score stored leads again.</p>
            ) : (
              <JobTable jobs={all} />
            )}
            {all.length === listed && <p class="small soft">The newest {listed} jobs.</p>}
          </Card>
        )}
      </Load>
    </Page>
  );
}

function JobTable({ jobs }: { readonly jobs: readonly Job[] }) {
  const { base } = useOrganisation();
  const { shown, more } = useSome(jobs, { words: 'jobs' });
  return (
    <>
      <Table
        label="Jobs"
        columns={['File', 'State', 'Model', 'Rows', 'Failed', 'By', 'Created']}
        rows={shown.map((job) => [
          <a key="file" href={`${base}/jobs/${job.job_id}`}>
            {fileText(job)}
          </a>,
          <span key="state" class={stateClass(job.state)}>
            {stateText(job.state, job.source)}
          </span>,
          job.model_name ?? 'removed model',
          rowsText(job),
          countText(job.progress.failed),
          job.kind === 'test' ? `${job.created_by} (test)` : job.created_by,
          instantText(job.created_at),
        ])}
      />
      {more}
    </>
  );
}
