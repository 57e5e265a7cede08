import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import type { exportLeadOutput, leadSchema } from '../../../../../shared/admin/schemas/leads.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { ScoreLine } from '../../charts/score-line.js';
import { countText, instantText, percentText } from '../../parts/formats.js';
import { ConfirmDialog } from '../../parts/forms/dialog.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { call } from '../../server/call.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import { Delta } from './delta.js';

type Lead = ShapeOf<typeof leadSchema>;
type Exported = ShapeOf<typeof exportLeadOutput>;
type Score = Lead['scores'][number];

/** The scores of one lead, latest first, and its erasure. */
export function LeadPage() {
  const { api, may } = useOrganisation();
  const { params } = useRoute();
  const id = params.id ?? '';
  const path = `${api}/leads/${encodeURIComponent(id)}`;
  const lead = useLoad<Lead>(path);
  const [isErasing, setErasing] = useState(false);
  const actions = lead.data && (
    <>
      <Download crmId={id} path={path} />
      {may('owner') && (
        <button type="button" class="button danger" onClick={() => setErasing(true)}>
          Erase person…
        </button>
      )}
    </>
  );
  return (
    <Page title={`Lead ${id}`} actions={actions}>
      <Load of={lead}>{(data) => <History first={data} path={path} />}</Load>
      {isErasing && <EraseDialog crmId={id} path={path} close={() => setErasing(false)} />}
    </Page>
  );
}

/** Saves all that is stored of the person as a file. */
function Download({ crmId, path }: { readonly crmId: string; readonly path: string }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const run = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      save(`${crmId}.json`, await exportOf(path));
    } catch (error) {
      setProblem(error as Error);
    }
    setBusy(false);
  };
  return (
    <>
      {problem && <Problem problem={problem} />}
      <button type="button" class="button" disabled={isBusy} onClick={run}>
        {isBusy ? 'Reading…' : 'Download all data'}
      </button>
    </>
  );
}

/** Reads every page of an export. */
async function exportOf(path: string): Promise<object> {
  const { next, ...first } = await call<Exported>('GET', `${path}/export`);
  const scores = [...first.scores];
  for (let before = next; before !== undefined; ) {
    const page: Exported = await call<Exported>('GET', `${path}/export?before=${encodeURIComponent(before)}`);
    scores.push(...page.scores);
    before = page.next;
  }
  return { exported_at: new Date().toISOString(), ...first, scores };
}

/** Gives the browser a file to save. */
function save(name: string, document_: object) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(document_, undefined, 2)], { type: 'application/json' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}

function History({ first, path }: { readonly first: Lead; readonly path: string }) {
  const [more, setMore] = useState<readonly Lead[]>([]);
  const [problem, setProblem] = useState<Error>();
  const pages = [first, ...more];
  const scores = pages.flatMap((page) => page.scores);
  const next = pages.at(-1)?.next;
  // Scores of two models cannot be compared.
  const newest = scores.filter((score) => score.model_id === scores[0]?.model_id);
  const loadMore = () =>
    call<Lead>('GET', `${path}?before=${encodeURIComponent(next ?? '')}`).then((page) => {
      setProblem(undefined);
      setMore((before) => [...before, page]);
    }, setProblem);
  return (
    <>
      {first.outcome && (
        <p class={first.outcome.converted ? 'note good' : 'note'}>
          {first.outcome.converted ? 'Converted' : 'Did not convert'}, reported for {instantText(first.outcome.at)}.
        </p>
      )}
      <Card title="Scores" about="A change compares with the score before under the same model.">
        {scores.length === 0 && <p class="soft">No scores are stored for this lead.</p>}
        {newest.length > 1 && <ScoreLine points={newest.toReversed()} />}
        {scores.length > 0 && (
          <Table
            label="Scores"
            columns={['Time', 'Score', 'Change', 'Likelihood', 'Model', 'Changed fields']}
            rows={scores.map((score) => [
              instantText(score.scored_at),
              <strong key="score">{score.score}</strong>,
              <Delta key="delta" of={score.delta} none="first" />,
              percentText(score.conversion_likelihood),
              `${score.model_name ?? score.model_id}, ${score.version}`,
              <Changes key="changes" of={score} />,
            ])}
          />
        )}
        {problem && <Problem problem={problem} />}
        {next && (
          <button type="button" class="button" onClick={loadMore}>
            Show earlier scores
          </button>
        )}
      </Card>
    </>
  );
}

/** Many changes would push the time and the score of their row out of the window. */
const firstChanges = 6;

function Changes({ of: { changed = [] } }: { readonly of: Score }) {
  const others = changed.slice(firstChanges);
  return (
    <>
      <ChangeList of={changed.slice(0, firstChanges)} />
      {others.length > 0 && (
        <details>
          <summary>{countText(others.length)} more</summary>
          <ChangeList of={others} />
        </details>
      )}
    </>
  );
}

function ChangeList({ of: changed }: { readonly of: NonNullable<Score['changed']> }) {
  return (
    <ul class="small">
      {changed.map(({ field, label, before, after }) => (
        <li key={field}>
          {label}: <span class="soft">{before ?? 'empty'}</span> → {after ?? 'empty'}
        </li>
      ))}
    </ul>
  );
}

function EraseDialog(props: { readonly crmId: string; readonly path: string; readonly close: () => void }) {
  const { base } = useOrganisation();
  const { route } = useLocation();
  const sender = useSend();
  const erase = async () => {
    if (await sender.send('DELETE', props.path)) route(`${base}/leads`);
  };
  return (
    <ConfirmDialog
      title={`Erase ${props.crmId}?`}
      action="Erase person"
      name={props.crmId}
      sender={sender}
      close={props.close}
      run={erase}
    >
      <p>All scores, stored fields and outcomes of this person are deleted. Usage stays as counted. No undo.</p>
    </ConfirmDialog>
  );
}
