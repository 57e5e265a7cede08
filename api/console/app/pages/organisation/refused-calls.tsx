import type { refusedCallsOutput } from '../../../../../shared/admin/schemas/usage.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { DayFigures } from '../../charts/day-figures.js';
import { timeText, wordsOf } from '../../parts/formats.js';
import { lastDays, RangeChoice } from '../../parts/forms/range.js';
import { Card, Load, Page } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad, useRefresh } from '../../server/use-load.js';
import { type DayRange, useRange, useUsageDays } from '../../server/use-range.js';

type Calls = ShapeOf<typeof refusedCallsOutput>['calls'];
const refreshMs = 10_000;
/** The list has the calls of so many days. */
const [shownDays, mostDays] = [7, 92];

/** The last calls of the keys that were refused or that failed. */
export function RefusedCallsPage() {
  const { api } = useOrganisation();
  const calls = useLoad<{ readonly calls: Calls }>(`${api}/refused-calls`);
  useRefresh(calls, refreshMs);
  const [range, setRange] = useRange(lastDays(shownDays));
  const days = useUsageDays(range);
  return (
    <Page
      title="Refused calls"
      about="The last 200 calls of the last seven days that were refused or that failed. None was counted."
    >
      <RangeChoice range={range} set={setRange} most={mostDays} />
      <Load of={days}>
        {(usage) => (
          <Card
            title="Refused calls of live keys by day"
            about="Counted up to a minute late, also calls that the list has no more."
          >
            <DayFigures of={usage} bucket="live" figure="refused" />
          </Card>
        )}
      </Load>
      <Load of={calls}>
        {({ calls: all }) => (all.length === 0 ? <NoCalls /> : <CallCards calls={all.filter(isIn(range))} />)}
      </Load>
    </Page>
  );
}

const isIn =
  ({ from, to }: DayRange) =>
  ({ at }: Calls[number]): boolean =>
    at.slice(0, 10) >= from && at.slice(0, 10) <= to;

const NoCalls = () => (
  <p class="card soft">
    No refused calls in the last seven days. Calls without a valid key are not listed, because no key names their
    organisation.
  </p>
);

function CallCards({ calls }: { readonly calls: Calls }) {
  const { shown, more } = useSome(calls, { words: 'calls' });
  if (calls.length === 0) return <p class="card soft">The list has no calls of these days.</p>;
  return (
    <>
      <Card title="Codes" about="How often each code came, and what it asks for.">
        <Table
          label="Codes"
          columns={['Code', 'Calls', 'Remedy']}
          rows={byCode(calls).map(({ code, status, remedy, count }) => [
            <span key="code" class="whole">
              {wordsOf(code)} <span class="small soft">{status}</span>
            </span>,
            String(count),
            <span key="remedy" class="small">
              {remedy}
            </span>,
          ])}
        />
      </Card>
      <Card title="Calls" about="Latest first. The bodies of calls are not stored.">
        <Table
          label="Refused calls"
          columns={['Time', 'Key', 'Code', 'Call', 'Request']}
          rows={shown.map((call) => [
            timeText(call.at),
            call.key_name ?? <code key="key">{call.key_id}</code>,
            wordsOf(call.code),
            <code key="route" class="whole">
              {call.route}
            </code>,
            <code key="request">{call.request_id}</code>,
          ])}
        />
        {more}
      </Card>
    </>
  );
}

/** The codes of some calls, the most frequent first. */
function byCode(calls: Calls) {
  const counts = new Map<string, Calls[number] & { count: number }>();
  for (const call of calls) {
    const known = counts.get(`${call.status} ${call.code}`);
    if (known) known.count += 1;
    else counts.set(`${call.status} ${call.code}`, { ...call, count: 1 });
  }
  return [...counts.values()].sort((one, other) => other.count - one.count);
}
