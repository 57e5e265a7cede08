import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import type { leadSchema } from '../../../../../shared/admin/schemas/leads.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { ScoreLine } from '../../charts/score-line.js';
import { instantText, percentText } from '../../parts/formats.js';
import { ConfirmDialog } from '../../parts/forms/dialog.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { call } from '../../server/call.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';

type Lead = ShapeOf<typeof leadSchema>;
type Score = Lead['scores'][number];

/** The scores of one lead, latest first, and its erasure. */
export function LeadPage() {
  const { api, may } = useOrganisation();
  const { params } = useRoute();
  const id = params.id ?? '';
  const path = `${api}/leads/${encodeURIComponent(id)}`;
  const lead = useLoad<Lead>(path);
  const [isErasing, setErasing] = useState(false);
  const actions = may('owner') && lead.data && (
    <button type="button" class="button danger" onClick={() => setErasing(true)}>
      Erase person…
    </button>
  );
  return (
    <Page title={`Lead ${id}`} actions={actions}>
      <Load of={lead}>{(data) => <History first={data} path={path} />}</Load>
      {isErasing && <EraseDialog crmId={id} path={path} close={() => setErasing(false)} />}
    </Page>
  );
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
              <Delta key="delta" of={score} />,
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

function Delta({ of: { delta } }: { readonly of: Score }) {
  if (delta === undefined) return <span class="soft">first</span>;
  const className = delta > 0 ? 'good' : delta < 0 ? 'bad' : '';
  return <span class={`badge ${className}`}>{delta > 0 ? `+${delta}` : delta}</span>;
}

function Changes({ of: { changed = [] } }: { readonly of: Score }) {
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
