import { useState } from 'preact/hooks';
import type { crmSchema, playgroundOutput } from '../../../../../shared/admin/schemas/leads.js';
import type { exampleOutput, listModelsOutput, modelSchema } from '../../../../../shared/admin/schemas/models.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { Gauge } from '../../charts/gauge.js';
import { Waterfall } from '../../charts/waterfall.js';
import { countText, percentText } from '../../parts/formats.js';
import { SelectField } from '../../parts/forms/field.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import { CallCode } from './call-code.js';
import type { RecordValues } from './input-notes.js';
import { RecordForm } from './record-form.js';

type Result = ShapeOf<typeof playgroundOutput>;
type Model = ShapeOf<typeof modelSchema>;

/** Scores one record as a CRM would send it, and explains the score. */
export function PlaygroundPage() {
  const { api, base } = useOrganisation();
  const models = useLoad<ShapeOf<typeof listModelsOutput>>(`${api}/models`);
  const [chosen, setChosen] = useState('');
  const modelId = chosen || models.data?.models[0]?.model_id;
  const options = models.data?.models.map(({ model_id, name }) => [model_id, name] as const) ?? [];
  return (
    <Page
      title="Playground"
      about="Scores one record. It counts in the test bucket, and its prediction is not recorded."
    >
      <Load of={models}>
        {({ models: all }) =>
          all.length === 0 || modelId === undefined ? (
            <p class="note">
              No models yet. Import one on the page <a href={`${base}/models`}>Models</a>.
            </p>
          ) : (
            <>
              <div class="form">
                <SelectField label="Model" value={modelId} set={setChosen} options={options} />
              </div>
              <Bench key={modelId} modelId={modelId} />
            </>
          )
        }
      </Load>
    </Page>
  );
}

function Bench({ modelId }: { readonly modelId: string }) {
  const { api } = useOrganisation();
  const model = useLoad<Model>(`${api}/models/${encodeURIComponent(modelId)}`);
  const crm = useLoad<ShapeOf<typeof crmSchema>>(`${api}/crm`);
  const sender = useSend();
  const [values, setValues] = useState<RecordValues>({});
  const [drawn, setDrawn] = useState('');
  const [scored, setScored] = useState<{ readonly result: Result; readonly values: RecordValues }>();
  const isOfRecord = scored?.values === values;
  const draw = async () => {
    const path = `${api}/models/${encodeURIComponent(modelId)}/example`;
    const example = await sender.send<ShapeOf<typeof exampleOutput>>('GET', path);
    if (example?.record) setValues(example.record);
    setDrawn(
      example !== undefined && example.record === null ? 'The bundle has no golden record that the form can show.' : '',
    );
  };
  const score = async () => {
    const body = { model_id: modelId, fields: values };
    const result = await sender.send<Result>('POST', `${api}/playground`, body);
    setScored(result && { result, values });
  };
  return (
    <Load of={model}>
      {(data) => (
        <>
          <div class="columns">
            <Card title="Record" about="Leave out values that you do not have.">
              <RecordForm
                fields={data.fields ?? []}
                values={values}
                set={setValues}
                submit={score}
                refuse={() => setScored(undefined)}
                report={isOfRecord ? scored.result.input : undefined}
                isBusy={sender.isBusy}
                draw={draw}
              />
            </Card>
            <div class="stack beside" role="status">
              {drawn && <p class="note">{drawn}</p>}
              {sender.problem && <Problem problem={sender.problem} />}
              {scored && !isOfRecord && <p class="note">The record has changed since this score.</p>}
              {scored ? <ResultCards result={scored.result} /> : <p class="card soft">The score appears here.</p>}
            </div>
          </div>
          <CallCode apiUrl={crm.data?.api_url ?? ''} modelId={modelId} values={values} />
        </>
      )}
    </Load>
  );
}

const methods: Readonly<Record<Result['explain_method'], string>> = {
  tree: 'exact Shapley values',
  linear: 'exact Shapley values',
  occlusion: 'values left out one by one',
};

function ResultCards({ result }: { readonly result: Result }) {
  const { conversion_likelihood: likelihood, base_rate: baseRate, warnings, drivers, usage } = result;
  return (
    <>
      <section class="card" aria-label="Score">
        <div class="result">
          <Gauge score={result.score} />
          <div>
            <p class="small soft">Conversion likelihood</p>
            <p class="figure">{percentText(likelihood)}</p>
            {baseRate !== null && baseRate > 0 && (
              <p class="small soft">
                {(likelihood / baseRate).toFixed(1)} times the mean of the training data ({percentText(baseRate)}).
              </p>
            )}
            <ul class="small">
              {result.reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          </div>
        </div>
        {warnings.map((warning) => (
          <p key={warning} class="note warn">
            {warning}
          </p>
        ))}
        <p class="small soft">
          {countText(usage.current)} of {countText(usage.limit)} test records this month.
        </p>
      </section>
      <Card
        title="How each field moved the score"
        about="Each field's step from an average lead to this one, as a change of the odds. A driver is not a cause."
        aside={<span class="badge">{methods[result.explain_method]}</span>}
      >
        {drivers.length === 0 ? <p class="soft">No field moved the score.</p> : <Waterfall drivers={drivers} />}
      </Card>
    </>
  );
}
