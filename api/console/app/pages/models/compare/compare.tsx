import { useLocation, useRoute } from 'preact-iso';
import { countText, shortDayText } from '../../../parts/formats.js';
import { SelectField } from '../../../parts/forms/field.js';
import { Card, Load, Page } from '../../../parts/page.js';
import { useOrganisation } from '../../../server/session.js';
import { useLoad } from '../../../server/use-load.js';
import type { Report } from '../gates.js';
import type { Model, ModelProps } from '../model-props.js';
import { CandidateNote } from '../promotion.js';
import { Comparison } from './comparison.js';

/** Versions that a list offers. Links of the model's page choose any other. */
const offered = 50;

/** Two versions of a model side by side: at first the scoring one and the newest other one. */
export function ComparePage() {
  const { api, base } = useOrganisation();
  const { params } = useRoute();
  const id = encodeURIComponent(params.id ?? '');
  const model = useLoad<Model>(`${api}/models/${id}`);
  const back = (
    <a class="button" href={`${base}/models/${id}`}>
      Back to the model
    </a>
  );
  return (
    <Page title="Compare versions" about={model.data?.name} actions={back}>
      <Load of={model}>{(data) => <ChosenVersions model={data} changed={model.reload} />}</Load>
    </Page>
  );
}

function ChosenVersions({ model, changed }: ModelProps) {
  const { query, path, route } = useLocation();
  const one = query.one ?? model.version;
  const other = query.other ?? model.versions.find(({ version }) => version !== one)?.version;
  if (other === undefined)
    return (
      <Card title="One version">
        <p class="soft">This model has one version. Upload another one on the page Models to compare them.</p>
      </Card>
    );
  const choose = (chosen: { readonly one: string; readonly other: string }) =>
    route(`${path}?${new URLSearchParams(chosen).toString()}`, true);
  return (
    <>
      <Card title="Versions">
        <div class="columns">
          <VersionField label="Version" model={model} chosen={one} choose={(each) => choose({ one: each, other })} />
          <VersionField
            label="Compared with"
            model={model}
            chosen={other}
            choose={(each) => choose({ one, other: each })}
          />
        </div>
      </Card>
      {[one, other].includes(model.candidate?.version ?? '') && <CandidateNote model={model} changed={changed} />}
      {one === other ? (
        <p class="note warn" role="status">
          Both are version {one}. Choose another one to compare it with.
        </p>
      ) : (
        <Reports model={model} one={one} other={other} />
      )}
    </>
  );
}

function VersionField(props: {
  readonly label: string;
  readonly model: Model;
  readonly chosen: string;
  readonly choose: (version: string) => void;
}) {
  const { model, chosen } = props;
  const listed = model.versions.filter(
    ({ version }, index) => index < offered || version === chosen || version === model.version,
  );
  const options = listed.map(({ version, imported_at: importedAt }) => {
    const note = version === model.version ? 'scores, ' : '';
    return [version, `${version} (${note}imported ${shortDayText(importedAt)})`] as const;
  });
  const isKnown = listed.some(({ version }) => version === chosen);
  const left = model.versions.length - listed.length;
  return (
    <SelectField
      label={props.label}
      value={chosen}
      set={props.choose}
      options={isKnown ? options : [[chosen, `${chosen} (unknown)`], ...options]}
      hint={left > 0 ? `${countText(left)} older versions are in the list on the model's page.` : ''}
    />
  );
}

function Reports({ model, one, other }: { readonly model: Model; readonly one: string; readonly other: string }) {
  const { api } = useOrganisation();
  const pathOf = (version: string) =>
    `${api}/models/${encodeURIComponent(model.model_id)}/report?version=${encodeURIComponent(version)}`;
  const first = useLoad<Report>(pathOf(one));
  const second = useLoad<Report>(pathOf(other));
  return (
    <Load of={first}>
      {(report) => <Load of={second}>{(otherReport) => <Comparison model={model} of={[report, otherReport]} />}</Load>}
    </Load>
  );
}
