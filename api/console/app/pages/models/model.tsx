import { useRoute } from 'preact-iso';
import { liftText } from '../../../../../shared/contract/figures.js';
import { Calibration } from '../../charts/calibration.js';
import { Contributions } from '../../charts/contributions.js';
import { RateBars } from '../../charts/rate-bars.js';
import { ScoreWeeks } from '../../charts/score-weeks.js';
import { countText, instantText, percentText } from '../../parts/formats.js';
import { Copy } from '../../parts/forms/copy.js';
import { Meaning } from '../../parts/meaning.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Strip } from '../../parts/strip.js';
import { LiveBadge } from '../../parts/verdict.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { FieldsCard } from './fields.js';
import { Gates, liftFigures, type Report, totalsOf } from './gates.js';
import type { Model } from './model-props.js';
import { LiveSwitch } from './models.js';
import { Advice, VerdictNote } from './outlook.js';
import { RescoringCard } from './rescoring.js';
import { Stability, wilsonTerm } from './terms.js';
import { Versions } from './versions.js';

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
            <RescoringCard model={data} changed={changed} />
            <FieldsCard key={`${data.model_id} ${data.version}`} model={data} />
          </>
        )}
      </Load>
    </Page>
  );
}

function Evidence({ report }: { readonly report: Report }) {
  const { grade, stability } = report;
  const hasJudged = grade?.bands.some(({ records }) => records > 0);
  return (
    <>
      <Figures report={report} />
      {(report.gates.length > 0 || report.days.length > 0) && (
        <div class="columns even">
          <GatesCard report={report} />
          {grade && hasJudged && <RateCards grade={grade} />}
          {report.days.length > 0 && <ScoresCard days={report.days} stability={stability} />}
        </div>
      )}
    </>
  );
}

/** The charts of leads that are old enough to be judged. */
function RateCards({ grade }: { readonly grade: NonNullable<Report['grade']> }) {
  return (
    <>
      <Card
        title="Conversion by score"
        about={
          <Meaning term={wilsonTerm}>
            Leads scored more than {countText(grade.horizon_days)} days before. The thin line shows how far chance may
            move a rate.
          </Meaning>
        }
      >
        <RateBars bands={grade.bands} />
      </Card>
      <Card
        title="Promised and converted"
        about={
          <Meaning term="Calibration by score band, with 95 % Wilson intervals. Both axes are square roots.">
            Each point is a score band. On the line, as many leads convert as the scores promise.
          </Meaning>
        }
      >
        <Calibration points={grade.calibration} />
      </Card>
    </>
  );
}

const contributionTerm =
  'Mean contribution of each field to the golden records of the bundle, in log-odds. 0.7 about doubles the odds.';

function ContributionsCard({ of: contributions }: { readonly of: NonNullable<Report['contributions']> }) {
  if (contributions.length === 0) return null;
  return (
    <Card
      title="How fields move the scores"
      about={
        <Meaning term={contributionTerm}>Over sample leads of the author. Longer bars move scores further.</Meaning>
      }
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
    <span>
      <Stability of={stability} />
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
    [
      'The best scores convert',
      times(lift),
      lift === undefined ? '' : 'as often as all leads',
      {
        term: `Lift of the top band${bound === undefined ? '' : `, at least ${times(bound)} (one-sided 95 % bound)`}.`,
      },
    ],
    ['Conversions', countText(conversions), `of ${countText(records)} leads`],
    [
      'Converted in training',
      percentText(report.base_rate),
      'of the leads',
      { term: 'Base rate: the mean likelihood in the training data, as the author of the bundle states it.' },
    ],
    [
      'Records this month',
      report.records_this_month === null ? '–' : countText(report.records_this_month),
      'live keys',
    ],
  ] as const;
  return <Strip label="Figures" figures={figures} />;
}
