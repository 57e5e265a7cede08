import type { listDeletionsOutput } from '../../../../../shared/admin/schemas/organisations.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, instantText } from '../../parts/formats.js';
import { Card, Load, Problem } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';

type Deletions = ShapeOf<typeof listDeletionsOutput>;

const states = { pending: 'To be deleted', removing: 'Being removed', deleted: 'Deleted' } as const;

/** Organisations that are to be deleted, with a button that takes it back, and the receipts of deleted ones. */
export function DeletionsCard({ changed }: { readonly changed: () => void }) {
  const deletions = useLoad<Deletions>('/deletions');
  const sender = useSend();
  const takeBack = async (organisationId: string) => {
    if (!(await sender.send('DELETE', `/orgs/${encodeURIComponent(organisationId)}/deletion`))) return;
    deletions.reload();
    changed();
  };
  return (
    <Card title="Deletions" about="Receipts have no names, and stay for 400 days.">
      <Load of={deletions}>
        {({ deletions: all }) =>
          all.length === 0 ? (
            <p class="soft">No organisation is to be deleted, and none was.</p>
          ) : (
            <Table
              label="Deletions"
              columns={['Id', 'State', 'Due or done', 'Ordered by', 'Records', 'Documents', 'Undo']}
              rows={all.map(({ org_id: id, state, due_at: due, ended_at: ended, by, records, removed }) => [
                state === 'pending' ? (
                  <a key="id" href={`/o/${encodeURIComponent(id)}/settings`}>
                    <code>{id}</code>
                  </a>
                ) : (
                  <code key="id">{id}</code>
                ),
                states[state],
                instantText(ended ?? due),
                by,
                records ? countText(records.reduce((sum, { live, test }) => sum + live + test, 0)) : '–',
                removed ? countText(Object.values(removed).reduce((sum, count) => sum + count, 0)) : '–',
                state === 'pending' ? (
                  <button
                    key="undo"
                    type="button"
                    class="button"
                    disabled={sender.isBusy}
                    aria-label={`Undelete ${id}`}
                    onClick={() => takeBack(id)}
                  >
                    Undelete
                  </button>
                ) : (
                  '–'
                ),
              ])}
            />
          )
        }
      </Load>
      {sender.problem && <Problem problem={sender.problem} />}
    </Card>
  );
}
