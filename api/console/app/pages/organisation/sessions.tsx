import { useEffect } from 'preact/hooks';
import type { listSessionsOutput } from '../../../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { instantText } from '../../parts/formats.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import { onChange } from '../../server/call.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';

type Sessions = ShapeOf<typeof listSessionsOutput>['sessions'];

/** The browsers in which the person is signed in and, for owners, those of all people of the organisation. */
export function SessionsPage() {
  const { api, may } = useOrganisation();
  return (
    <Page title="Sessions" about="An ended session stops at once. The last use is up to a minute late.">
      <SessionsCard title="Your sessions" path="/sessions/own" about="The browsers in which you are signed in." />
      {may('owner') && (
        <SessionsCard
          title="Sessions of this organisation"
          path={`${api}/sessions`}
          about="People who signed in to it by a link or as members."
        />
      )}
    </Page>
  );
}

/** The sessions of all operators. */
export function OperatorSessionsPage() {
  return (
    <Page title="Operator sessions" about="An ended session stops at once. The last use is up to a minute late.">
      <SessionsCard
        title="Operators"
        path="/sessions/operators"
        about="The browsers in which operators are signed in."
      />
    </Page>
  );
}

function SessionsCard({
  title,
  about,
  path,
}: {
  readonly title: string;
  readonly about: string;
  readonly path: string;
}) {
  const loaded = useLoad<{ readonly sessions: Sessions }>(path);
  const sender = useSend();
  const { reload } = loaded;
  // Both lists of an owner may show the session that was ended.
  useEffect(() => onChange(reload), [reload]);
  const end = (id: string) => sender.send('DELETE', `${path}/${encodeURIComponent(id)}`);
  return (
    <Card title={title} about={about}>
      <Load of={loaded}>
        {({ sessions }) => <List title={title} sessions={sessions} end={end} isBusy={sender.isBusy} />}
      </Load>
      {sender.problem && <Problem problem={sender.problem} />}
    </Card>
  );
}

const ways: Readonly<Record<string, string>> = { link: 'one-time link', oidc: 'company account' };

function List(props: {
  readonly title: string;
  readonly sessions: Sessions;
  readonly end: (id: string) => void;
  readonly isBusy: boolean;
}) {
  const { shown, more } = useSome(props.sessions, { words: 'sessions' });
  if (props.sessions.length === 0) return <p class="soft">No sessions.</p>;
  return (
    <>
      <Table
        label={props.title}
        columns={['Person', 'Action', 'Last used', 'Address', 'Signed in', 'By']}
        rows={shown.map((session) => [
          <span key="person">
            <strong>{session.person}</strong> <span class="small soft">{session.role}</span>
          </span>,
          session.is_current ? (
            <span key="end" class="badge on">
              this browser
            </span>
          ) : session.session_id === '' ? (
            'ends by itself'
          ) : (
            <button
              key="end"
              type="button"
              class="button"
              disabled={props.isBusy}
              aria-label={`End the session of ${session.person} from ${session.address}`}
              onClick={() => props.end(session.session_id)}
            >
              End
            </button>
          ),
          instantText(session.last_used_at),
          <code key="address">{session.address ?? '–'}</code>,
          instantText(session.created_at),
          ways[session.way] ?? session.way,
        ])}
      />
      {more}
    </>
  );
}
