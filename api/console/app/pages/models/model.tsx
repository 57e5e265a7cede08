import { useRoute } from 'preact-iso';
import { liftText } from '../../../../../shared/contract/figures.js';
import { Calibration } from '../../charts/calibration.js';
import { Contributions } from '../../charts/contributions.js';
import { RateBars } from '../../charts/rate-bars.js';
import { ScoreWeeks } from '../../charts/score-weeks.js';
import { countText, instantText, percentText } from '../../parts/formats.js';
import { Copy } from '../../parts/forms/copy.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Strip } from '../../parts/strip.js';
import { LiveBadge } from '../../parts/verdict.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { FieldsCard } from './fields.js';
import { Gates, liftFigures, type Report, totalsOf } from './gates.js';
import { LiveSwitch } from './models.js';
import { Advice, VerdictNote } from './outlook.js';
import { type Model, Versions } from './versions.js';

/** One model: its verdict and evidence, what moves its scores, and its versions. */
export function ModelPage() {
  const { api, may } = useOrganisation();
  const { params } = useRoute();
  const path = `${api}/models/${encodeURIComponent(params.id ?? '')}`;
  const model = useLoad<Model>(path);
  const report = useLoad<Report>(`${path}/report`);
  const changed = () => {
    model.reload();
    report.reload();
  };
  const actions = model.data && (
    <>
      {may('admin') ? <LiveSwitch model={model.data} changed={changed} /> : <LiveBadge isOn={model.data.live_api} />}
      <Copy text={model.data.model_id} label="Copy id" />
    </>
  );
  return (
    <Page
      title={model.data?.name ?? 'Model'}
      about={model.data && `Version ${model.data.version}, created ${instantText(model.data.created_at)}`}
      actions={actions}
    >
      <Load of={model}>
        {(data) => (
          <>
            <VerdictNote model={data} report={report.data} />
            <Load of={report}>{(evidence) => <Evidence report={evidence} />}</Load>
            <div class="columns wide even">
              {report.data && <ContributionsCard of={report.data.contributions ?? []} />}
              <Versions model={data} changed={changed} />
            </div>
            <FieldsCard key={`${data.model_id} ${data.version}`} model={data} />
          </>
        )}
      </Load>
    </Page>
  );
}

function Evidence({ report }: { readonly report: Report }) {
  const { grade, stability } = report;
  return (
    <>
      <Figures report={report} />
      {grade && (
        <div class="columns even">
          <GatesCard report={report} />
          <Card
            title="Conversion by score"
            about={`Leads scored more than ${countText(grade.horizon_days)} days before. Whiskers are 95 % Wilson intervals.`}
          >
            <RateBars bands={grade.bands} />
          </Card>
          <Card title="Calibration" about="Converted against promised, by score band. On the line is right.">
            <Calibration points={grade.calibration} />
          </Card>
          <ScoresCard days={report.days} stability={stability} />
        </div>
      )}
      {!grade && <GatesCard report={report} />}
      {!grade && report.days.length > 0 && <ScoresCard days={report.days} stability={stability} />}
    </>
  );
}

function ContributionsCard({ of: contributions }: { readonly of: NonNullable<Report['contributions']> }) {
  if (contributions.length === 0) return null;
  return (
    <Card
      title="How fields move the scores"
      about="Mean contribution of each field to the golden records, in log-odds."
    >
      <Contributions of={contributions} />
    </Card>
  );
}

function GatesCard({ report }: { readonly report: Report }) {
  const { gates, grade } = report;
  if (gates.length === 0) return null;
  const graded = grade === undefined ? 'Not graded yet' : `Graded ${instantText(grade.graded_at)}`;
  return (
    <Card title="Validation" about={`${graded}, in this order.`}>
      <Gates gates={gates} advice={<Advice report={report} />} />
    </Card>
  );
}

function ScoresCard({ days, stability }: Pick<Report, 'days' | 'stability'>) {
  const badge = stability !== null && (
    <span class={stability < 0.1 ? 'badge good' : stability < 0.25 ? 'badge warn' : 'badge bad'}>
      {stability < 0.1 ? 'steady' : 'moving'}, PSI {stability.toFixed(2)}
    </span>
  );
  return (
    <Card title="Scores over time" about="First score of each lead, by week." aside={badge}>
      <ScoreWeeks days={days} />
    </Card>
  );
}

function Figures({ report: { gates, grade, ...report } }: { readonly report: Report }) {
  const { lift, lower_bound: bound } = liftFigures({ gates });
  const { records, conversions } = grade === undefined ? { records: 0, conversions: 0 } : totalsOf(grade);
  const times = (value: number | undefined) => (value === undefined ? '–' : liftText(value));
  const figures = [
    ['Top-band lift', times(lift), bound === undefined ? '' : `at least ${times(bound)}`],
    ['Conversions', countText(conversions), `of ${countText(records)} leads`],
    ['Mean likelihood in training', percentText(report.base_rate), ''],
    [
      'Records this month',
      report.records_this_month === null ? '–' : countText(report.records_this_month),
      'live keys',
    ],
  ] as const;
  return <Strip label="Figures" figures={figures} />;
}
