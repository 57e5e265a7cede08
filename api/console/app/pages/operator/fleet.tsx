import type { fleetOutput } from '../../../../../shared/admin/schemas/usage.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { bytesText, countText, instantText, millisecondsText, timeText } from '../../parts/formats.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Strip } from '../../parts/strip.js';
import { Table } from '../../parts/table.js';
import { useLoad, useRefresh } from '../../server/use-load.js';
import { type Organisations, OrganisationTable } from './orgs.js';

type Fleet = ShapeOf<typeof fleetOutput>;
const refreshMs = 5_000;

/** Queues, workers, quarantined versions and the state of both databases. */
export function FleetPage() {
  const fleet = useLoad<Fleet>('/fleet');
  useRefresh(fleet, refreshMs);
  return (
    <Page title="Queues and workers" about="Read again every five seconds.">
      <Load of={fleet}>
        {(data) => (
          <>
            <Figures fleet={data} />
            <Processes of={data.processes} />
            <Card
              title="Lanes"
              about="Each worker process takes the jobs of one lane. A chunk that arrives now waits for the backlog."
            >
              <Table
                label="Lanes"
                columns={['Lane', 'Waiting', 'Active', 'Delayed', 'Failed', 'Workers', 'Backlog', 'Oldest chunk']}
                rows={data.lanes.map((lane, index) => [
                  <strong key="lane">{laneName(lane, data.lanes.slice(0, index))}</strong>,
                  ...[lane.waiting, lane.active, lane.delayed, lane.failed, lane.workers].map(countText),
                  ...[lane.backlog_seconds, lane.oldest_chunk_seconds].map(waitText),
                ])}
              />
            </Card>
            <Versions fleet={data} />
            <Sweeps of={data.sweeps} />
            <FirstOrganisations />
          </>
        )}
      </Load>
    </Page>
  );
}

/** Queues without a measured backlog have a dash. */
const waitText = (seconds: number | null): string => (seconds === null ? '–' : `${seconds.toFixed(1)} s`);

/** During a release, the lanes of the console's own message version come first. */
function laneName({ lane, message_version }: Fleet['lanes'][number], before: Fleet['lanes']): string {
  return before.some((each) => each.lane === lane) ? `${lane} (message version ${message_version})` : lane;
}

function Processes({ of: processes }: { readonly of: Fleet['processes'] }) {
  if (processes === null)
    return <p class="note">The user of Redis lacks the right to CLIENT LIST, which counts processes.</p>;
  const figures = [
    ['Gateways', countText(processes.gateways), 'running'],
    ['Worker pools', countText(processes.pools), 'running'],
    ['Runners of bulk jobs', countText(processes.bulk_runners), 'running'],
    ['Consoles', countText(processes.consoles), 'running'],
  ] as const;
  return <Strip label="Processes" figures={figures} />;
}

function Sweeps({ of: sweeps }: { readonly of: Fleet['sweeps'] }) {
  return (
    <Card
      title="Last sweeps"
      about="A pool ends expired leases every few seconds, and counts usage again where it may be wrong."
    >
      {sweeps.length === 0 ? (
        <p class="note warn">No sweep was noted. Check that a worker pool runs.</p>
      ) : (
        <Table
          label="Last sweeps"
          columns={['Began', 'Took', 'Leases settled', 'Leases released', 'Counters recounted', 'Counters failed']}
          rows={sweeps.map((sweep) => [
            timeText(sweep.at),
            millisecondsText(sweep.took_ms),
            ...[sweep.settled, sweep.released, sweep.recounted, sweep.failed].map(countText),
          ])}
        />
      )}
    </Card>
  );
}

function FirstOrganisations() {
  const first = useLoad<Organisations>('/orgs?with_usage=true&limit=10');
  return (
    <Card title="Organisations" aside={<a href="/orgs">All organisations</a>}>
      <Load of={first}>{({ organisations }) => <OrganisationTable organisations={organisations} />}</Load>
    </Card>
  );
}

function Figures({ fleet }: { readonly fleet: Fleet }) {
  const { redis, mongodb } = fleet;
  const [latest] = fleet.sweeps;
  const figures = [
    [
      'Last sweep',
      latest ? timeText(latest.at) : 'none',
      latest && !fleet.sweep_is_running ? 'none in the last seconds' : '',
    ],
    ['Calls to void', countText(fleet.calls_to_void), ''],
    ['Redis', bytesText(redis.used_bytes), redis.max_bytes === null ? 'no limit' : `of ${bytesText(redis.max_bytes)}`],
    ['Versions', redis.version, `Redis; MongoDB ${mongodb.version}`],
  ] as const;
  return <Strip label="State" figures={figures} />;
}

function Versions({ fleet: { quarantine, strikes } }: { readonly fleet: Fleet }) {
  return (
    <div class="columns">
      <Card title="Quarantine" about="Versions that ended several workers. Their calls get 500 until then.">
        {quarantine.length === 0 ? (
          <p class="soft">No version is in quarantine.</p>
        ) : (
          <Table
            label="Quarantine"
            columns={['Model', 'Version', 'Until']}
            rows={quarantine.map(({ model_id, version, until }) => [
              <code key="model">{model_id}</code>,
              version,
              instantText(until),
            ])}
          />
        )}
      </Card>
      <Card title="Worker deaths" about="By the version in hand, of the last hour.">
        {strikes.length === 0 ? (
          <p class="soft">No worker died.</p>
        ) : (
          <Table
            label="Worker deaths"
            columns={['Model', 'Version', 'Deaths', 'Last']}
            rows={strikes.map(({ model_id, version, deaths, last_at }) => [
              <code key="model">{model_id}</code>,
              version,
              countText(deaths),
              instantText(last_at),
            ])}
          />
        )}
      </Card>
    </div>
  );
}
