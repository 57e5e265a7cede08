import type { usageOutput } from '../../../../../shared/admin/schemas/usage.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { DayFigures } from '../../charts/day-figures.js';
import { UsageBar } from '../../charts/usage-bar.js';
import { countText, dayText, monthText } from '../../parts/formats.js';
import { lastDays, RangeChoice } from '../../parts/forms/range.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useRange, useUsageDays } from '../../server/use-range.js';

type Usage = ShapeOf<typeof usageOutput>;
const [shownDays, mostDays] = [30, 92];
const buckets = [
  ['live', 'Live keys by day'],
  ['test', 'Test keys by day'],
] as const;

/** Records of this month against the limit, of chosen days, and by month, for live keys and for test keys. */
export function UsagePage() {
  const { api } = useOrganisation();
  const usage = useLoad<Usage>(`${api}/usage`);
  const [range, setRange] = useRange(lastDays(shownDays));
  const days = useUsageDays(range);
  const actions = (
    <a
      class="button"
      href={`/admin/v1${api}/usage?format=csv&from=${range.from}&to=${range.to}`}
      target="_blank"
      rel="noreferrer"
    >
      Export CSV
    </a>
  );
  const about = usage.data && `Counters start again at zero on ${dayText(usage.data.resets_at)}, midnight UTC.`;
  return (
    <Page title="Usage" about={about} actions={actions}>
      <Load of={usage}>
        {(data) => (
          <>
            <div class="columns even">
              {data.buckets.map((bucket) => (
                <BucketCard key={bucket.bucket} of={bucket} month={data.month} />
              ))}
            </div>
            <RangeChoice range={range} set={setRange} most={mostDays} />
            <Load of={days}>
              {(shown) => (
                <>
                  {buckets.map(([bucket, title]) => (
                    <Card key={bucket} title={title}>
                      <DayFigures of={shown} bucket={bucket} figure="records" />
                    </Card>
                  ))}
                </>
              )}
            </Load>
            <Card title="The last twelve months">
              <Table
                label="Records by month"
                columns={['Month', 'Live records', 'Test records']}
                rows={data.months
                  .filter(({ month }) => month >= data.created_at.slice(0, 7))
                  .reverse()
                  .map((each) => [monthText(each.month), countText(each.live), countText(each.test)])}
              />
            </Card>
          </>
        )}
      </Load>
    </Page>
  );
}

function BucketCard({ of: usage, month }: { readonly of: Usage['buckets'][number]; readonly month: string }) {
  const isLive = usage.bucket === 'live';
  return (
    <Card
      title={`${isLive ? 'Live' : 'Test'} keys in ${monthText(month)}`}
      about={isLive ? undefined : 'Free, and not in the limit of live keys.'}
    >
      <p class="figure">
        {countText(usage.current)}{' '}
        <small>
          {usage.limit === 0 ? 'records; the plan has none of live keys' : `of ${countText(usage.limit)} records`}
        </small>
      </p>
      {usage.limit > 0 && (
        <UsageBar used={usage.current} limit={usage.limit} backstop={usage.backstop} forecast={undefined} />
      )}
      {usage.in_grace && (
        <p class="note warn">
          The limit is used up. Calls are still answered in the grace band, and refused at{' '}
          {countText(usage.backstop ?? usage.limit)} records.
        </p>
      )}
    </Card>
  );
}
