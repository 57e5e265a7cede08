import { useEffect, useId, useState } from 'preact/hooks';
import type { importModelOutput, listModelsOutput } from '../../../../../shared/admin/schemas/models.js';
import type { uploadSchema } from '../../../../../shared/admin/schemas/uploads.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { bytesText, countText } from '../../parts/formats.js';
import { DropArea } from '../../parts/forms/drop.js';
import { Field, SelectField } from '../../parts/forms/field.js';
import { Switch } from '../../parts/forms/switch.js';
import { Meaning } from '../../parts/meaning.js';
import { Card, Problem } from '../../parts/page.js';
import { call, Refusal } from '../../server/call.js';
import { type BundleFile, droppedFiles, packBundle } from '../../server/pack-bundle.js';
import { useOrganisation } from '../../server/session.js';
import { useSend } from '../../server/use-send.js';

type Upload = ShapeOf<typeof uploadSchema>;
type Models = ShapeOf<typeof listModelsOutput>['models'];
type Imported = ShapeOf<typeof importModelOutput>;

interface UploadProps {
  readonly models: Models;
  /** Called when a bundle became a model or a version. */
  readonly imported: () => void;
}

/** Takes a bundle as a folder, as files or as an archive, and shows how far its check came. */
export function UploadCard({ models, imported }: UploadProps) {
  const { api } = useOrganisation();
  const [upload, setUpload] = useState<Upload>();
  const [problem, setProblem] = useState<Error>();
  const [isSending, setSending] = useState(false);
  const [result, setResult] = useState<Imported>();
  const take = async (chosen: Promise<readonly BundleFile[]>) => {
    setProblem(undefined);
    setUpload(undefined);
    setSending(true);
    try {
      setUpload(await call<Upload>('POST', `${api}/uploads`, await packBundle(await chosen)));
    } catch (error) {
      setProblem(error as Error);
    } finally {
      setSending(false);
    }
  };
  return (
    <Card
      title="Upload a bundle"
      about={
        <Meaning term="These leads and scores are the golden records of the bundle.">
          A worker scores sample leads of the author and compares the scores with those of the author.
        </Meaning>
      }
    >
      <BundleDrop take={take} isSending={isSending} />
      {problem && <Problem problem={problem} />}
      {upload && <Progress upload={upload} setUpload={setUpload} />}
      {upload?.state === 'passed' && (
        <ImportForm
          upload={upload}
          models={models}
          imported={(model) => {
            setUpload({ ...upload, state: 'imported' });
            setResult(model);
            imported();
          }}
        />
      )}
      {upload?.state === 'imported' && result && <Result model={result} version={upload.manifest?.version} />}
    </Card>
  );
}

function BundleDrop(props: {
  readonly take: (files: Promise<readonly BundleFile[]>) => void;
  readonly isSending: boolean;
}) {
  const [folderId, filesId] = [useId(), useId()];
  const chosen = (event: { readonly currentTarget: HTMLInputElement }) => {
    const files = [...(event.currentTarget.files ?? [])];
    // The same files chosen again must cause an event.
    event.currentTarget.value = '';
    if (files.length > 0)
      props.take(Promise.resolve(files.filter(isTopLevel).map((file) => ({ name: file.name, file }))));
  };
  return (
    <DropArea
      text={props.isSending ? 'Sending…' : 'Drop the folder of a bundle or its .tar.gz here, or choose it.'}
      drop={({ items }) => props.take(droppedFiles(items))}
    >
      <div class="form">
        <div class="field">
          <label for={folderId}>Folder of the bundle</label>
          <input {...folderOnly} id={folderId} type="file" disabled={props.isSending} onChange={chosen} />
        </div>
        <div class="field">
          <label for={filesId}>Files or archive</label>
          <input id={filesId} type="file" multiple disabled={props.isSending} onChange={chosen} />
        </div>
      </div>
    </DropArea>
  );
}

/** Lets an input choose a folder. Preact's types lack the attribute. */
const folderOnly = { webkitdirectory: true };

/** Whether a file of a chosen folder lies in the folder itself. */
const isTopLevel = (file: File): boolean => file.webkitRelativePath.split('/').length <= 2;

const uses = [
  ['candidate', 'As a candidate'],
  ['serve', 'To score at once'],
] as const;
const serveText = 'New calls of this model are scored by the new version at once. Its own verdict counts from then on.';
const candidateText = 'The version is stored beside the one that scores. Let it score on the page of the model.';

const pollMs = 500;
const steps = [
  ['received', 'Waiting for a worker'],
  ['reading', 'Reading the bundle'],
  ['scoring', 'Scoring the sample leads'],
] as const;

function Progress({ upload, setUpload }: { readonly upload: Upload; readonly setUpload: (upload: Upload) => void }) {
  const { api } = useOrganisation();
  const [problem, setProblem] = useState<Error>();
  const isOpen = steps.some(([state]) => state === upload.state);
  useEffect(() => {
    if (!isOpen) return;
    const poll = () =>
      call<Upload>('GET', `${api}/uploads/${upload.upload_id}`).then((found) => {
        setProblem(undefined);
        setUpload(found);
      }, setProblem);
    const timer = setInterval(poll, pollMs);
    return () => clearInterval(timer);
  }, [isOpen, api, upload.upload_id, setUpload]);
  const { manifest, golden } = upload;
  return (
    <div role="status">
      {manifest && (
        <p>
          <strong>{manifest.name}</strong>, version {manifest.version}, {countText(manifest.features)} features,{' '}
          {bytesText(upload.bytes)}
        </p>
      )}
      {isOpen && <p class="note">{steps.find(([state]) => state === upload.state)?.[1]}…</p>}
      {golden && (
        <p>
          {countText(golden.matching)} of {countText(golden.records)} sample leads have the expected score.
        </p>
      )}
      {upload.state === 'passed' && <p class="note good">The bundle passed its check.</p>}
      {upload.state === 'failed' && (
        <p class="note bad">The bundle cannot be imported. {upload.problem} Nothing was changed.</p>
      )}
      {upload.notes.length > 0 && <p class="small soft">Ignored: {upload.notes.join(', ')}</p>}
      {problem && <Problem problem={problem} />}
    </div>
  );
}

/** The use of the imported version. */
function Result({ model, version }: { readonly model: Imported; readonly version: string | undefined }) {
  if (model.blocked !== undefined)
    return (
      <p class="note warn">
        The model is stored. Its calls get 409 until it passes validation, because the deploy policy is block.
      </p>
    );
  if (model.version === version) return <p class="note good">This version scores calls now.</p>;
  return (
    <p class="note good">
      Version {version} is a candidate of {model.name}. Version {model.version} goes on scoring.
    </p>
  );
}

function ImportForm(props: {
  readonly upload: Upload;
  readonly models: Models;
  readonly imported: (model: Imported) => void;
}) {
  const { upload, models, imported } = props;
  const { api } = useOrganisation();
  const sender = useSend();
  const [modelId, setModelId] = useState('');
  const [name, setName] = useState(upload.manifest?.name ?? '');
  const [isLive, setLive] = useState(true);
  const [isSecond, setSecond] = useState(false);
  const [use, setUse] = useState('candidate');
  const [reason, setReason] = useState('');
  const serves = modelId === '' || use === 'serve';
  const isBlocked = sender.problem instanceof Refusal && sender.problem.code === 'would_block';
  const asksReason = serves && (isBlocked || reason !== '');
  const isStored = sender.problem instanceof Refusal && sender.problem.code === 'bundle_stored';
  const send = async (event: Event) => {
    event.preventDefault();
    const given = asksReason && reason.trim() !== '' ? { override: { reason } } : {};
    const body = modelId === '' ? { name, live_api: isLive, new: isSecond } : { model_id: modelId, use, ...given };
    const path = `${api}/uploads/${upload.upload_id}/import`;
    const model = await sender.send<Imported>('POST', path, body);
    if (model) imported(model);
  };
  return (
    <form class="form" onSubmit={send}>
      <SelectField
        label="Import as"
        value={modelId}
        set={setModelId}
        options={[['', 'A new model'], ...models.map((each) => [each.model_id, `Version of ${each.name}`] as const)]}
      />
      {modelId === '' && <Field label="Name" value={name} set={setName} isRequired />}
      {modelId === '' && <Switch label="Live API" isOn={isLive} set={setLive} />}
      {modelId === '' && (isStored || isSecond) && (
        <Switch label="New model of the same bundle" isOn={isSecond} set={setSecond} />
      )}
      {modelId !== '' && <SelectField label="Use" value={use} set={setUse} options={uses} />}
      {modelId !== '' && <p class="small soft">{serves ? serveText : candidateText}</p>}
      {asksReason && (
        <Field
          label="Reason for an override"
          value={reason}
          set={setReason}
          hint="The version then scores although it has not passed. Stored with your name in the audit log."
        />
      )}
      <div class="row">
        <button type="submit" class="button main" disabled={sender.isBusy}>
          {serves ? 'Make it score' : 'Store as candidate'}
        </button>
      </div>
      {sender.problem && <Problem problem={sender.problem} />}
    </form>
  );
}
