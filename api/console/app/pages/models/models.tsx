import { useState } from 'preact/hooks';
import type { listModelsOutput } from '../../../../../shared/admin/schemas/models.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { ConfirmDialog } from '../../parts/forms/dialog.js';
import { Switch } from '../../parts/forms/switch.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { LiveBadge, shortSummary, VerdictBadge } from '../../parts/verdict.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import { UploadCard } from './upload.js';

type Model = ShapeOf<typeof listModelsOutput>['models'][number];

/** The models of an organisation, with their Live API switches, and the upload of a bundle. */
export function ModelsPage() {
  const { api, may } = useOrganisation();
  const models = useLoad<ShapeOf<typeof listModelsOutput>>(`${api}/models`);
  return (
    <Page title="Models" about="A model scores calls while its Live API is on.">
      <Load of={models}>{(data) => <ModelList models={data.models} changed={models.reload} />}</Load>
      {may('admin') && <UploadCard models={models.data?.models ?? []} imported={models.reload} />}
    </Page>
  );
}

function ModelList({ models, changed }: { readonly models: readonly Model[]; readonly changed: () => void }) {
  const { may } = useOrganisation();
  const { shown, more } = useSome(models, { words: 'models' });
  return (
    <Card title="Models">
      {models.length === 0 && (
        <p class="soft">No models yet. {may('admin') ? 'Upload a bundle below.' : 'An admin can upload one.'}</p>
      )}
      <ul class="rows">
        {shown.map((model) => (
          <ModelRow key={model.model_id} model={model} changed={changed} />
        ))}
      </ul>
      {more}
    </Card>
  );
}

function ModelRow({ model, changed }: { readonly model: Model; readonly changed: () => void }) {
  const { base, may } = useOrganisation();
  return (
    <li>
      <div>
        <a href={`${base}/models/${encodeURIComponent(model.model_id)}`}>
          <strong>{model.name}</strong>
        </a>
        <p class="small soft">
          Version {model.version}. {shortSummary(model.validation.summary)}
        </p>
        <code>{model.model_id}</code>
      </div>
      <div class="row">
        <VerdictBadge state={model.validation.state} />
        {may('admin') ? <LiveSwitch model={model} changed={changed} /> : <LiveBadge isOn={model.live_api} />}
      </div>
    </li>
  );
}

/** Switches the Live API of a model. Switching off asks first, because calls then fail. */
export function LiveSwitch(props: {
  readonly model: { readonly model_id: string; readonly name: string; readonly live_api: boolean };
  readonly changed: () => void;
}) {
  const { api } = useOrganisation();
  const sender = useSend();
  const [isAsking, setAsking] = useState(false);
  const { model_id: id, name, live_api: isOn } = props.model;
  const set = async (liveApi: boolean) => {
    if ((await sender.send('PATCH', `${api}/models/${encodeURIComponent(id)}`, { live_api: liveApi })) === undefined)
      return;
    setAsking(false);
    props.changed();
  };
  return (
    <>
      <Switch
        label="Live API"
        isOn={isOn}
        isDisabled={sender.isBusy}
        set={(next) => (next ? set(true) : setAsking(true))}
      />
      {sender.problem && !isAsking && <Problem problem={sender.problem} />}
      {isAsking && (
        <ConfirmDialog
          title={`Switch the Live API of ${name} off?`}
          action="Switch off"
          name={name}
          sender={sender}
          close={() => setAsking(false)}
          run={() => set(false)}
        >
          <p>Calls to this model get 403 until it is on again. Scores and keys stay.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
