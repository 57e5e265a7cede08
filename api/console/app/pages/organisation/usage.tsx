import { useState } from 'preact/hooks';
import type { usageOutput } from '../../../../../shared/admin/schemas/usage.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { DayBars } from '../../charts/day-bars.js';
import { UsageBar } from '../../charts/usage-bar.js';
import { countText, dayText, monthText } from '../../parts/formats.js';
import { SelectField } from '../../parts/forms/field.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';

type Usage = ShapeOf<typeof usageOutput>;

/** Records by day and by month, for live keys and for test keys. */
export function UsagePage() {
  const { api } = useOrganisation();
  const [month, setMonth] = useState('');
  const query = month === '' ? '' : `?month=${month}`;
  const usage = useLoad<Usage>(`${api}/usage${query}`);
  const csv = `/admin/v1${api}/usage${query}${query ? '&' : '?'}format=csv`;
  const actions = (
    <a class="button" href={csv} target="_blank" rel="noreferrer">
      Export CSV
    </a>
  );
  const about = usage.data && `Counters start again at zero on ${dayText(usage.data.resets_at)}, midnight UTC.`;
  return (
    <Page title="Usage" about={about} actions={actions}>
      <Load of={usage}>
        {(data) => (
          <>
            <div class="form">
              <SelectField
                label="Month"
                value={data.month}
                set={setMonth}
                options={monthsOf(data).map((each) => [each, monthText(each)])}
              />
            </div>
            {data.buckets.map((bucket) => (
              <BucketCard key={bucket.bucket} of={bucket} since={data.created_at} />
            ))}
            <Card title="The last twelve months">
              <Table
                label="Records by month"
                columns={['Month', 'Live records', 'Test records']}
                rows={[...data.months]
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

/** The last twelve months and the shown one, latest first. */
const monthsOf = ({ month, months }: Usage): string[] =>
  [...new Set([...months.map((each) => each.month), month])].sort().reverse();

function BucketCard({ of: usage, since }: { readonly of: Usage['buckets'][number]; readonly since: string }) {
  const isLive = usage.bucket === 'live';
  return (
    <Card title={isLive ? 'Live keys' : 'Test keys'} about={isLive ? undefined : 'Free, and not in the limit above.'}>
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
      {usage.days.some(({ records }) => records > 0) ? (
        <DayBars days={usage.days} since={since} />
      ) : (
        <p class="soft">No records in this month.</p>
      )}
    </Card>
  );
}
