import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { listModelsOutput } from '../../../../../shared/admin/schemas/models.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { bytesText, countText, instantText } from '../../parts/formats.js';
import { FileDrop } from '../../parts/forms/drop.js';
import { SelectField } from '../../parts/forms/field.js';
import { Switch } from '../../parts/forms/switch.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { readFileHead } from '../../server/file-head.js';
import { startUpload } from '../../server/file-upload.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import { ColumnsTable } from './columns-table.js';
import { hasEnded, type JobPage, stateText } from './job-words.js';
import { type ChosenFile, estimatedRows, type Preview, usePreview } from './preview.js';
import { StoredLeads } from './stored-leads.js';

type Models = ShapeOf<typeof listModelsOutput>['models'];

const maxBytes = 5 * 1024 ** 3;

/** Chooses a file and a model, shows how they fit, and begins the job. */
export function NewJobPage() {
  const { api, base } = useOrganisation();
  const models = useLoad<ShapeOf<typeof listModelsOutput>>(`${api}/models`);
  return (
    <Page title="New job" about="Scores each row of a CSV or JSONL file, or stored leads again.">
      <Load of={models}>
        {({ models: all }) =>
          all.length === 0 ? (
            <p class="note">
              No models yet. Import one on the page <a href={`${base}/models`}>Models</a>.
            </p>
          ) : (
            <Chooser models={all} />
          )
        }
      </Load>
    </Page>
  );
}

function Chooser({ models }: { readonly models: Models }) {
  const { api } = useOrganisation();
  const [modelId, setModelId] = useState(models[0]?.model_id ?? '');
  const [isStored, setStored] = useState(false);
  const [chosen, setChosen] = useState<ChosenFile>();
  const [idColumn, setIdColumn] = useState('');
  const [isReading, setReading] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const preview = usePreview(api, { chosen, modelId, idColumn });
  const take = async (file: File) => {
    setProblem(undefined);
    setChosen(undefined);
    setIdColumn('');
    setReading(true);
    try {
      refuseSize(file);
      setChosen({ file, ...(await readFileHead(file)) });
    } catch (error) {
      setProblem(error as Error);
    } finally {
      setReading(false);
    }
  };
  return (
    <>
      <Card title="Leads and model">
        <div class="form">
          <SelectField
            label="Model"
            value={modelId}
            set={setModelId}
            options={models.map(({ model_id: id, name }) => [id, name] as const)}
          />
          <SelectField
            label="Leads"
            value={isStored ? 'stored' : 'file'}
            set={(value) => setStored(value === 'stored')}
            options={[
              ['file', 'of a file'],
              ['stored', 'that are stored, once more'],
            ]}
          />
        </div>
        {!isStored && (
          <FileDrop
            text={
              isReading ? 'Reading the first lines…' : 'Drop a CSV or JSONL file here, plain or gzip, or choose it.'
            }
            label="File of leads"
            isDisabled={isReading}
            take={(file) => void take(file)}
          />
        )}
        {chosen && !isStored && (
          <p role="status">
            <strong>{chosen.file.name}</strong>, {bytesText(chosen.file.size)}
            {preview.preview === undefined && preview.problem === undefined && '. Comparing its columns…'}
          </p>
        )}
        {problem && <Problem problem={problem} />}
        {preview.problem && <Problem problem={preview.problem} />}
      </Card>
      {isStored && <StoredLeads modelId={modelId} />}
      {chosen && !isStored && preview.preview && (
        <Fit key={chosen.fingerprint} {...{ chosen, modelId, idColumn, setIdColumn }} preview={preview.preview} />
      )}
    </>
  );
}

function refuseSize({ name, size }: File): void {
  if (size === 0) throw new Error(`${name} is empty, or it is a folder. Choose a file with at least one row.`);
  if (size > maxBytes) throw new Error(`${name} has more than 5 GiB. Compress it with gzip, or divide it.`);
}

interface FitProps {
  readonly chosen: ChosenFile;
  readonly preview: Preview;
  readonly modelId: string;
  readonly idColumn: string;
  readonly setIdColumn: (name: string) => void;
}

/** How the file fits the model, and the form that begins the job. */
function Fit(props: FitProps) {
  const { chosen, preview, idColumn, setIdColumn } = props;
  const { id_column: found, id_guess: guess, columns, problem } = preview;
  const asksId = idColumn !== '' || found === undefined;
  return (
    <>
      <SameFile chosen={chosen} preview={preview} />
      <Card title="Columns" about="Compared by the first lines of the file.">
        {problem && (
          <p class="note bad" role="alert">
            {problem}
          </p>
        )}
        {columns.length > 0 && <ColumnsTable preview={preview} />}
        {asksId && columns.length > 0 && (
          <SelectField
            label="Which column is the id of the lead?"
            value={idColumn}
            set={setIdColumn}
            options={[
              ['', 'None: scores cannot be looked up or graded'],
              ...columns.map(({ name }) => [name, name === guess ? `${name} (likely)` : name] as const),
            ]}
            hint="The same id as in the CRM, in calls and in outcomes."
          />
        )}
      </Card>
      <Begin {...props} />
    </>
  );
}

/** Earlier jobs of the same file: an unfinished upload goes on, and rows that were scored would count again. */
function SameFile({ chosen, preview }: Pick<FitProps, 'chosen' | 'preview'>) {
  const { api, base } = useOrganisation();
  const { route } = useLocation();
  const open = preview.same_file.find(({ state }) => state === 'awaiting_upload');
  const [other] = preview.same_file.filter((job) => job !== open && job.state !== 'failed' && job.state !== 'canceled');
  const goOn = (id: string) => {
    startUpload(`${api}/jobs/${id}`, chosen.file);
    route(`${base}/jobs/${id}`);
  };
  return (
    <>
      {open && (
        <div class="note warn row">
          <span>
            The upload of this file is not complete. {open.created_by} began it on {instantText(open.created_at)} with{' '}
            {open.model_name ?? 'a removed model'}.
          </span>
          <button type="button" class="button main" onClick={() => goOn(open.job_id)}>
            Go on with the upload
          </button>
        </div>
      )}
      {other && (
        <p class="note warn">
          <a href={`${base}/jobs/${other.job_id}`}>A job of this file</a> exists: {stateText(other.state)}
          {hasEnded(other.state) && other.ended_at && ` on ${instantText(other.ended_at)}`}. In another job its rows
          count once more.
        </p>
      )}
    </>
  );
}

function Begin({ chosen, preview, modelId, idColumn }: FitProps) {
  const { api, base } = useOrganisation();
  const { route } = useLocation();
  const sender = useSend();
  const [explains, setExplains] = useState(false);
  const [usesGrace, setUsesGrace] = useState(false);
  const [isStrict, setStrict] = useState(false);
  const { file, fingerprint } = chosen;
  const begin = async (event: Event) => {
    event.preventDefault();
    const job = await sender.send<JobPage>('POST', `${api}/jobs`, {
      ...{ model_id: modelId, format: preview.format, name: file.name, bytes: file.size, fingerprint },
      ...(idColumn !== '' && { crm_id_field: idColumn }),
      ...{ explain: explains, strict: isStrict, stop_at: usesGrace ? 'backstop' : 'limit' },
    });
    if (job === undefined) return;
    startUpload(`${api}/jobs/${job.job_id}`, file);
    route(`${base}/jobs/${job.job_id}`);
  };
  return (
    <Card title="Begin">
      <form class="stack" onSubmit={begin}>
        <Room chosen={chosen} preview={preview} usesGrace={usesGrace} />
        <Switch label="Reasons in the results" isOn={explains} set={setExplains} />
        <Switch label="Refuse the file if a column is unknown" isOn={isStrict} set={setStrict} />
        {preview.usage.backstop !== null && (
          <Switch label="Go on beyond the limit, in the grace band" isOn={usesGrace} set={setUsesGrace} />
        )}
        <div class="row">
          <button type="submit" class="button main" disabled={sender.isBusy || preview.problem !== undefined}>
            Score this file
          </button>
          {preview.problem && <span class="small soft">Correct the file first, and choose it again.</span>}
        </div>
        {sender.problem && <Problem problem={sender.problem} />}
      </form>
    </Card>
  );
}

/** The records that the month has left, beside the rows of the file. */
function Room({ chosen, preview, usesGrace }: Pick<FitProps, 'chosen' | 'preview'> & { readonly usesGrace: boolean }) {
  const { usage } = preview;
  const stop = usesGrace ? (usage.backstop ?? usage.limit) : usage.limit;
  const room = Math.max(0, stop - usage.current);
  const rows = estimatedRows(chosen, preview);
  const isTooMuch = rows !== undefined && rows > room;
  const until = usesGrace ? 'the end of the grace band' : 'its limit';
  return (
    <p class={isTooMuch ? 'note warn' : 'note'}>
      This month has room for {countText(room)} records until {until}.{' '}
      {rows !== undefined && `The file has ${chosen.isWhole ? '' : 'about '}${countText(rows)} rows. `}
      {isTooMuch && 'The job will pause there until the next month, or until the operator raises the limit.'}
    </p>
  );
}
