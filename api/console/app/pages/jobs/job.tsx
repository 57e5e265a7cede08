import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { bytesText, countText, instantText } from '../../parts/formats.js';
import { ConfirmDialog } from '../../parts/forms/dialog.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { Strip } from '../../parts/strip.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad, useRefresh } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import { Failures } from './failures.js';
import { InputTable } from './input-table.js';
import {
  durationText,
  fileText,
  hasEnded,
  type JobPage as Job,
  remedyOf,
  rowsDone,
  stateClass,
  stateText,
} from './job-words.js';
import { UploadCard } from './upload-card.js';

const refreshMs = 1_000;

/** One bulk job: how far it came, what it waits for, how its fields were read, and its files. */
export function JobPage() {
  const { api } = useOrganisation();
  const { params } = useRoute();
  const path = `${api}/jobs/${encodeURIComponent(params.id ?? '')}`;
  const job = useLoad<Job>(path);
  const { data, reload } = job;
  const isMoving = data !== undefined && !hasEnded(data.state);
  useRefresh(job, refreshMs, isMoving);
  return (
    <Page
      title={data === undefined ? 'Job' : fileText(data)}
      about={data && `${data.model_name ?? data.model_id}, version ${data.model_version}`}
      actions={data && <Buttons job={data} path={path} reload={reload} />}
    >
      <Load of={job}>
        {(shown) => (
          <>
            {shown.state === 'awaiting_upload' && <UploadCard job={shown} path={path} />}
            <State job={shown} />
            <Downloads job={shown} path={path} />
            {shown.progress.failed > 0 && <Failures path={path} failed={shown.progress.failed} />}
            {shown.input_summary && <InputTable summary={shown.input_summary} />}
            <Settings job={shown} />
          </>
        )}
      </Load>
    </Page>
  );
}

function Buttons(props: { readonly job: Job; readonly path: string; readonly reload: () => void }) {
  const { job, path, reload } = props;
  const { base } = useOrganisation();
  const { route } = useLocation();
  const sender = useSend();
  const [asks, setAsks] = useState<'cancel' | 'delete'>();
  const command = async (name: string) => {
    if ((await sender.send('POST', `${path}/${name}`)) === undefined) return;
    setAsks(undefined);
    reload();
  };
  const remove = async () => {
    if ((await sender.send('DELETE', path)) !== undefined) route(`${base}/jobs`);
  };
  const button = (text: string, press: () => void, kind = '') => (
    <button
      type="button"
      id={text === 'Resume' ? 'resume' : undefined}
      class={`button ${kind}`}
      disabled={sender.isBusy}
      onClick={press}
    >
      {text}
    </button>
  );
  const isEnded = hasEnded(job.state);
  return (
    <>
      {job.state === 'running' && button('Pause', () => void command('pause'))}
      {job.state === 'paused' && button('Resume', () => void command('resume'), 'main')}
      {!isEnded && button('Cancel…', () => setAsks('cancel'))}
      {isEnded && button('Delete…', () => setAsks('delete'), 'danger')}
      {sender.problem && asks === undefined && <Problem problem={sender.problem} />}
      {asks && (
        <ConfirmDialog
          title={asks === 'cancel' ? 'Cancel this job?' : 'Delete this job?'}
          action={asks === 'cancel' ? 'Cancel job' : 'Delete job'}
          name={fileText(job)}
          sender={sender}
          close={() => setAsks(undefined)}
          run={() => void (asks === 'cancel' ? command('cancel') : remove())}
        >
          <p>
            {asks === 'cancel'
              ? 'It cannot be resumed. Its results so far stay, and their rows stay counted.'
              : 'Its results and errors are removed now. Its rows stay counted.'}
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** How far the job came, and what it waits for. */
function State({ job }: { readonly job: Job }) {
  const { base } = useOrganisation();
  const { progress, pace } = job;
  const remedy = remedyOf(job);
  const done = rowsDone(progress);
  return (
    <Card
      title="Progress"
      about={`Created by ${job.created_by}, ${instantText(job.created_at)}`}
      aside={<span class={stateClass(job.state)}>{stateText(job.state, job.source)}</span>}
    >
      {progress.rows !== null && progress.rows > 0 && (
        <div role="status">
          <progress aria-label="Rows done" max={progress.rows} value={done} />
          <p class="small soft">
            {countText(done)} of {countText(progress.rows)} rows
            {pace.seconds_left !== null && `, about ${durationText(pace.seconds_left)} left`}
          </p>
        </div>
      )}
      <Strip
        label="Rows"
        figures={[
          ['Scored', countText(progress.scored), 'rows, each counts'],
          ['Failed', countText(progress.failed), 'rows, not counted'],
          ['Empty', countText(progress.empty), 'rows, not counted'],
          ['Left this month', countText(Math.max(0, job.usage.remaining)), `of ${countText(job.usage.limit)} records`],
        ]}
      />
      {remedy && (
        <div class="note warn">
          <p>
            <strong>Paused: {remedy.why}</strong> {remedy.cure}
          </p>
          {remedy.link && <a href={`${base}${remedy.link[0]}`}>{remedy.link[1]}</a>}
        </div>
      )}
      {job.error && (
        <p class="note bad">
          <strong>
            {job.source === 'stored' ? 'The job has failed' : 'The file cannot be read'}. No row was scored.
          </strong>{' '}
          {failureText(job.error)}
        </p>
      )}
      {job.notices.length > 0 && (
        <ul class="notes" aria-label="Notices">
          {job.notices.map((notice) => (
            <li key={notice} class="note">
              {notice}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function failureText({ message, line, column }: NonNullable<Job['error']>): string {
  const text = /[.!?]$/.test(message) ? message : `${message}.`;
  if (line === undefined || message.includes(`line ${line}`)) return text;
  return `${text} (line ${line}${column === undefined ? '' : `, column ${column}`})`;
}

function Downloads({ job, path }: { readonly job: Job; readonly path: string }) {
  const { scored, failed, empty } = job.progress;
  if (scored + failed + empty === 0) return null;
  const note = hasEnded(job.state) ? '' : 'The job has not ended: the files have the rows so far.';
  return (
    <Card title="Files" about={`${note} They are removed on ${instantText(job.expires_at)}.`.trim()}>
      <div class="row">
        <a class="button main" href={`/admin/v1${path}/results`} download>
          Download results
        </a>
        {failed > 0 && (
          <a class="button" href={`/admin/v1${path}/errors`} download>
            Download errors
          </a>
        )}
      </div>
    </Card>
  );
}

function Settings({ job }: { readonly job: Job }) {
  const { options, upload } = job;
  const ofStored = [
    [
      'Leads',
      `sent in the ${countText(options.sent_within_days ?? 0)} days before, the newest ${countText(options.max_rows ?? 0)} at most`,
    ],
    ['Format', upload.format.toUpperCase()],
  ] as const;
  const ofFile = [
    ['File', `${upload.format.toUpperCase()}${upload.bytes === undefined ? '' : `, ${bytesText(upload.bytes)}`}`],
    ['Ids', options.crm_id_field ?? 'crm_id, if the file has it'],
    ['Columns of the file', options.include_input ? 'in the results' : 'left out of the results'],
    ['Unknown columns', options.strict ? 'are refused' : 'are left out of the score'],
  ] as const;
  const values = [
    ['Job', job.job_id],
    ...(job.source === 'stored' ? ofStored : ofFile),
    ['Pauses at', options.stop_at === 'backstop' ? 'the end of the grace band' : 'the limit of the month'],
    ['Reasons', options.explain ? 'in the results' : 'no'],
  ] as const;
  return (
    <Card title="Settings">
      <dl class="values small">
        {values.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
