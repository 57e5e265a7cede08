import { useState } from 'preact/hooks';
import type { overviewOutput } from '../../../../../shared/admin/schemas/usage.js';
import { liftText } from '../../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { DayFigures } from '../../charts/day-figures.js';
import { Spark } from '../../charts/spark.js';
import { UsageBar } from '../../charts/usage-bar.js';
import { Choice } from '../../parts/choice.js';
import { countText, dayText, instantText, millisecondsText, monthText, percentText } from '../../parts/formats.js';
import { lastDays, RangeChoice } from '../../parts/forms/range.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Strip } from '../../parts/strip.js';
import { LiveBadge, VerdictBadge } from '../../parts/verdict.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad, useRefresh } from '../../server/use-load.js';
import { useRange, useUsageDays } from '../../server/use-range.js';
import { NeedsAttention, useAttention } from './attention.js';
import { FirstSteps, hasOpenStep } from './first-steps.js';

type Overview = ShapeOf<typeof overviewOutput>;
const buckets = ['live', 'test'] as const;
const [shownDays, mostDays] = [30, 92];
/** The first steps tick themselves, while the page is cheap to read. */
const [refreshMs, smallUsage] = [15_000, 1_000];

/** Usage of the month, activity, models and the latest changes. */
export function OverviewPage() {
  const { api, base, may } = useOrganisation();
  const [bucket, setBucket] = useState<(typeof buckets)[number]>('live');
  const overview = useLoad<Overview>(`${api}/overview?bucket=${bucket}`);
  const [range, setRange] = useRange(lastDays(shownDays));
  const days = useUsageDays(range);
  const attention = useAttention();
  const isNew = overview.data !== undefined && hasOpenStep(overview.data.first_run);
  useRefresh(overview, refreshMs, isNew && overview.data.usage.current < smallUsage);
  const about =
    overview.data &&
    `Plan ${overview.data.plan}. The month ends on ${dayText(overview.data.resets_at)} at midnight UTC.`;
  const actions = (
    <>
      <a class="button" href={`/admin/v1${api}/usage?format=csv`} target="_blank" rel="noreferrer">
        Export CSV
      </a>
      {may('admin') && (
        <a class="button main" href={`${base}/playground`}>
          Try a record
        </a>
      )}
    </>
  );
  return (
    <Page title="Overview" about={about} actions={actions}>
      <Load of={overview}>
        {(data) => (
          <>
            <NeedsAttention of={attention} />
            {isNew && <FirstSteps done={data.first_run} />}
            <Card
              title={`Records scored in ${monthText(data.month)}`}
              aside={<Choice label="Keys" options={buckets} chosen={bucket} choose={setBucket} />}
            >
              <UsageCard data={data} />
            </Card>
            {/* At the beginning of a month the days of the last one have records. */}
            {(hasRecords(data) || data.crm.first_call_at !== null) && (
              <Card title="Records by day">
                <RangeChoice range={range} set={setRange} most={mostDays} />
                <Load of={days}>{(usage) => <DayFigures of={usage} bucket={bucket} figure="records" />}</Load>
              </Card>
            )}
            <Activity activity={data.activity} />
            <div class="columns wide even">
              <Models {...data} />
              <Changes entries={data.audit} />
            </div>
          </>
        )}
      </Load>
    </Page>
  );
}

function UsageCard({ data }: { readonly data: Overview }) {
  const { usage, forecast } = data;
  const excess = forecast === null ? 0 : forecast.records - usage.limit;
  return (
    <>
      {usage.limit === 0 ? (
        <PlanWithoutRecords of={data} />
      ) : (
        <>
          <p class="figure">
            {countText(usage.current)} <small>of {countText(usage.limit)} included</small>
          </p>
          <UsageBar used={usage.current} limit={usage.limit} backstop={usage.backstop} forecast={forecast?.records} />
        </>
      )}
      {forecast !== null && hasRecords(data) && usage.limit > 0 && (
        <p class="note">
          <strong>At this pace {countText(forecast.records)} by the end of the month</strong>
          {excess > 0 ? `, ${countText(excess)} above the limit.` : ', within the limit.'}
          {usage.backstop !== null && ` Calls are refused at ${countText(usage.backstop)}.`}
        </p>
      )}
      {!hasRecords(data) && <p class="soft">No records yet this month.</p>}
    </>
  );
}

const hasRecords = ({ usage, days }: Overview): boolean => usage.current > 0 || days.some(({ records }) => records > 0);

/** Names the plan and what it allows. The banner above says who changes the plan. */
function PlanWithoutRecords({ of: { plan, usage, test_limit: limit } }: { readonly of: Overview }) {
  return (
    <>
      <p class="figure">
        Plan {plan} <small>without records of live keys</small>
      </p>
      <p class="note">
        Test keys and the playground score {countText(limit)} records a month for free.
        {usage.current > 0 && ` Live keys scored ${countText(usage.current)} records before the plan changed.`}
      </p>
    </>
  );
}

function Activity({ activity }: { readonly activity: Overview['activity'] }) {
  const { calls, refused, days } = activity;
  const spark = (figureOf: (day: (typeof days)[number]) => number | null) =>
    days.length > 1 && <Spark values={days.map(figureOf)} />;
  const figures = [
    ['Calls', countText(calls), 'this month', { spark: spark((day) => day.calls) }],
    [
      'Answered',
      calls === 0 ? '–' : percentText(1 - refused / calls),
      `${countText(refused)} refused`,
      { spark: spark((day) => 1 - day.refused / Math.max(day.calls, 1)) },
    ],
    [
      'Half of the answers within',
      millisecondsText(activity.p50_ms),
      '',
      {
        term: 'The median (50th percentile) of the time from a call to its answer.',
        spark: spark((day) => day.p50_ms),
      },
    ],
    [
      '99 of 100 answers within',
      millisecondsText(activity.p99_ms),
      '',
      { term: 'The 99th percentile of the time from a call to its answer.', spark: spark((day) => day.p99_ms) },
    ],
  ] as const;
  return <Strip label="Activity, up to a minute late" figures={figures} />;
}

function Models({ models, model_count: count, policy }: Pick<Overview, 'models' | 'model_count' | 'policy'>) {
  const { base } = useOrganisation();
  return (
    <Card title="Models" aside={<a href={`${base}/models`}>All {count > models.length && countText(count)} models</a>}>
      {models.length === 0 && <p class="soft">No models yet.</p>}
      <ul class="rows">
        {models.map((model) => (
          <li key={model.model_id}>
            <div>
              <a href={`${base}/models/${encodeURIComponent(model.model_id)}`}>
                <strong>{model.name}</strong>
              </a>
              <p class="small soft">
                Version {model.version}
                {model.records_this_month !== null && ` · ${countText(model.records_this_month)} records this month`}
                {model.lift !== undefined && ` · best scores convert ${liftText(model.lift)} as often`}
              </p>
            </div>
            <div class="row">
              {model.rates?.some((rate) => rate > 0) && <RateSpark rates={model.rates} />}
              <VerdictBadge state={model.validation.state} />
              <LiveBadge isOn={model.live_api} />
            </div>
          </li>
        ))}
      </ul>
      {models.length > 0 && (
        <p class="note small">
          Deploy policy <strong>{policy}</strong>: {policyTexts[policy]}
        </p>
      )}
    </Card>
  );
}

const policyTexts = {
  warn: 'models that have not passed still score, with the verdict in each answer.',
  block: 'calls of models that have not passed get 409, unless an admin overrides the verdict.',
} as const;

/** Conversion rates of the five score bands, lowest scores first. The model's page has the figures. */
function RateSpark({ rates }: { readonly rates: readonly number[] }) {
  const peak = Math.max(...rates, 0.01);
  return (
    <svg class="spark" viewBox="0 0 84 24" aria-hidden="true">
      {rates.map((rate, band) => {
        const height = Math.max(1, (24 * rate) / peak);
        return (
          <rect key={band} x={17 * band} y={24 - height} width="14" height={height} fill={`var(--band-${band})`} />
        );
      })}
    </svg>
  );
}

function Changes({ entries }: { readonly entries: Overview['audit'] }) {
  const { base } = useOrganisation();
  return (
    <Card title="Changes" aside={<a href={`${base}/audit`}>Audit log</a>}>
      {entries.length === 0 && <p class="soft">No changes yet.</p>}
      <ul class="rows">
        {entries.map((entry) => (
          <li key={entry.entry_id}>
            <div>
              {entry.sentence}
              <p class="small soft">{instantText(entry.at)}</p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
