import { useState } from 'preact/hooks';
import type { listOrganisationsOutput, organisationSchema } from '../../../../../shared/admin/schemas/organisations.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, instantText } from '../../parts/formats.js';
import { Dialog, DialogButtons } from '../../parts/forms/dialog.js';
import { Field, SelectField } from '../../parts/forms/field.js';
import { Card, Load, Page, Problem } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useLoad } from '../../server/use-load.js';
import { useSend } from '../../server/use-send.js';
import { DeletionsCard } from './deletions.js';

export type Organisations = ShapeOf<typeof listOrganisationsOutput>;
const shown = 50;

/** All organisations of the installation, a page at a time. */
export function OrganisationsPage() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [isCreating, setCreating] = useState(false);
  const after = cursors.at(-1);
  const path = `/orgs?with_usage=true&limit=${shown}${after ? `&after=${encodeURIComponent(after)}` : ''}`;
  const page = useLoad<Organisations>(path);
  const actions = (
    <button type="button" class="button main" onClick={() => setCreating(true)}>
      Create organisation
    </button>
  );
  return (
    <Page title="Organisations" about="In the order of their ids." actions={actions}>
      <Load of={page}>
        {({ organisations, next }) => (
          <Card title={`Page ${cursors.length + 1}`}>
            {organisations.length === 0 && <p class="soft">No organisations yet.</p>}
            {organisations.length > 0 && <OrganisationTable organisations={organisations} />}
            <div class="row">
              <button
                type="button"
                class="button"
                disabled={cursors.length === 0}
                onClick={() => setCursors(cursors.slice(0, -1))}
              >
                Previous
              </button>
              <button
                type="button"
                class="button"
                disabled={next === undefined}
                onClick={() => next && setCursors([...cursors, next])}
              >
                Next
              </button>
              <span class="small soft">{placeText(cursors.length === 0, next === undefined)}</span>
            </div>
          </Card>
        )}
      </Load>
      <DeletionsCard changed={page.reload} />
      {isCreating && <CreateDialog close={() => setCreating(false)} />}
    </Page>
  );
}

/** Says why a button that turns the page cannot be pressed. */
function placeText(isFirst: boolean, isLast: boolean): string {
  if (isFirst && isLast) return 'There are no other pages.';
  return isFirst ? 'This is the first page.' : isLast ? 'This is the last page.' : '';
}

/** Organisations with their usage, each a link to its pages. */
export function OrganisationTable({ organisations }: Pick<Organisations, 'organisations'>) {
  return (
    <Table
      label="Organisations"
      columns={['Name', 'Id', 'Plan', 'Used this month', 'Limit', 'Created']}
      rows={organisations.map((each) => [
        <a key="name" href={`/o/${encodeURIComponent(each.org_id)}/`}>
          {each.name}
        </a>,
        <code key="id">{each.org_id}</code>,
        <PlanCell key="plan" of={each} />,
        typeof each.used === 'number' ? countText(each.used) : '–',
        countText(each.limit),
        instantText(each.created_at),
      ])}
    />
  );
}

function PlanCell({ of: { plan, suspended, deletion } }: { readonly of: Organisations['organisations'][number] }) {
  return (
    <>
      {plan}{' '}
      {suspended && (
        <span class="badge bad" title={suspended.reason}>
          Suspended
        </span>
      )}{' '}
      {deletion && (
        <span class="badge bad" title={`From ${instantText(deletion.due_at)} on`}>
          To be deleted
        </span>
      )}
    </>
  );
}

function CreateDialog({ close }: { readonly close: () => void }) {
  const sender = useSend();
  const [name, setName] = useState('');
  const [plan, setPlan] = useState('free');
  const create = async () => {
    const reply = await sender.send<ShapeOf<typeof organisationSchema>>('POST', '/orgs', { name, plan });
    if (reply) location.assign(`/o/${encodeURIComponent(reply.org_id)}/settings`);
  };
  return (
    <Dialog title="Create an organisation" close={close} submit={create}>
      <Field label="Name" value={name} set={setName} isRequired />
      <SelectField
        label="Plan"
        value={plan}
        set={setPlan}
        options={['free', 'trial', 'pro', 'enterprise'].map((each) => [each, each])}
      />
      {sender.problem && <Problem problem={sender.problem} />}
      <DialogButtons action="Create" close={close} isBusy={sender.isBusy} isDisabled={name.trim() === ''} />
    </Dialog>
  );
}
