import type { attentionOutput } from '../../../../../shared/admin/schemas/organisations.js';
import { wholePercentText } from '../../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, monthText, shortDayText } from '../../parts/formats.js';
import { Card, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { type Loaded, useLoad, useRefresh } from '../../server/use-load.js';

type Attention = ShapeOf<typeof attentionOutput>;

/** A trouble with its consequence, and the place of its remedy. */
interface Trouble {
  readonly id: string;
  readonly says: string;
  /** Below the address of the organisation, with the element after `#`. */
  readonly place: string;
  readonly link: string;
}

const refreshMs = 60_000;

export function useAttention(): Loaded<Attention> {
  const { api } = useOrganisation();
  const attention = useLoad<Attention>(`${api}/attention`);
  useRefresh(attention, refreshMs);
  return attention;
}

/** The troubles of an organisation, the gravest first, each with its remedy. Calls that are refused have a banner. */
export function NeedsAttention({ of: { data, problem, reload } }: { readonly of: Loaded<Attention> }) {
  const { base, may } = useOrganisation();
  if (problem) return <Problem problem={problem} retry={reload} />;
  const troubles = data === undefined ? [] : troublesOf(data, may('operator'));
  if (troubles.length === 0) return null;
  return (
    <Card title="Needs attention">
      <ul class="rows">
        {troubles.map(({ id, says, place, link }) => (
          <li key={id}>
            <p>{says}</p>
            <a class="button whole" href={`${base}${place}`}>
              {link}
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function troublesOf(data: Attention, mayRaise: boolean): readonly Trouble[] {
  const { near_limit: near, paused_jobs: jobs, vanished_fields: fields, idle_keys: keys } = data;
  return [
    ...(near === undefined ? [] : [limitTrouble(near, mayRaise)]),
    ...jobs.map(jobTrouble),
    ...moreOf(data.paused_job_count - jobs.length, 'jobs', ['More jobs are paused', '/jobs', 'See all jobs']),
    ...fields.map(fieldTrouble),
    ...moreOf(data.vanished_field_count - fields.length, 'fields', [
      'More fields have vanished from the records of models',
      '/models',
      'See the models',
    ]),
    ...keys.map(keyTrouble),
    ...moreOf(data.idle_key_count - keys.length, 'keys', [
      'More keys had no call for 60 days',
      '/keys',
      'See all keys',
    ]),
  ];
}

function limitTrouble({ month, used, limit, backstop }: NonNullable<Attention['near_limit']>, mayRaise: boolean) {
  const state =
    used < limit
      ? `${wholePercentText(used / limit)} of the ${countText(limit)} records of ${monthText(month)} are used: jobs pause at the limit`
      : `The limit of ${countText(limit)} records of ${monthText(month)} is passed: jobs pause`;
  return {
    id: 'limit',
    says: `${state}, and calls are refused at ${countText(backstop)}.`,
    place: '/settings#plan',
    link: mayRaise ? 'Raise the limit' : 'Ask for a higher limit',
  };
}

const causes: Readonly<Record<string, string>> = {
  requested: 'a person or a program paused it',
  too_many_errors: 'too many rows failed',
  quota_exceeded: 'the month has no room',
  workspace_suspended: 'the organisation is suspended',
  expired_read_only: 'the trial has ended',
  api_disabled: 'Live API of its model is off',
  deploy_blocked: 'the deploy policy blocks its model',
  model_unavailable: 'its model cannot be loaded',
  scoring_failed: 'rows could not be scored',
};

function jobTrouble({ job_id: id, name, rows, done, pause }: Attention['paused_jobs'][number]): Trouble {
  const cause = causes[pause?.reason ?? ''];
  const place = rows === null ? 'before its first row' : `after ${countText(done)} of ${countText(rows)} rows`;
  return {
    id,
    says: `The job ${name ?? id} is paused ${place}${cause ? `, because ${cause}` : ''}: the other rows wait.`,
    place: `/jobs/${encodeURIComponent(id)}#resume`,
    link: 'Open the job',
  };
}

function fieldTrouble({ model_id: id, model_name, label, day, before, now }: Attention['vanished_fields'][number]) {
  return {
    id: `${id} ${label}`,
    says: `${label} was in ${wholePercentText(now)} of the records of ${model_name} on ${shortDayText(day)}, and in ${wholePercentText(before)} before: scores lack it.`,
    place: `/models/${encodeURIComponent(id)}#fields`,
    link: 'See its fields',
  };
}

function keyTrouble({ key_id: id, name, created_at: created, last_used_at: used }: Attention['idle_keys'][number]) {
  const silence =
    used === undefined
      ? `has had no call since ${shortDayText(created)}`
      : `had its last call on ${shortDayText(used)}`;
  return {
    id,
    says: `The key ${name} ${silence}: if no program needs it, it is only a risk.`,
    place: `/keys#${encodeURIComponent(id)}`,
    link: 'Keep or revoke it',
  };
}

/** A line for the troubles of one kind that are not listed. */
const moreOf = (count: number, id: string, [says, place, link]: readonly [string, string, string]): Trouble[] =>
  count > 0 ? [{ id: `more ${id}`, says: `${says}: ${countText(count)}.`, place, link }] : [];
