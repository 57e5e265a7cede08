import { useState } from 'preact/hooks';
import type { recentLeadsOutput } from '../../../../../shared/admin/schemas/leads.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { Choice } from '../../parts/choice.js';
import { countText, instantText } from '../../parts/formats.js';
import { Card, Load } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { Delta } from './delta.js';

type Recent = ShapeOf<typeof recentLeadsOutput>;

const orders = ['newest', 'highest', 'changed'] as const;

/** The leads with which the page begins. */
export function RecentLeads() {
  const { api } = useOrganisation();
  const recent = useLoad<Recent>(`${api}/recent-leads`);
  const [order, setOrder] = useState<(typeof orders)[number]>('newest');
  return (
    <Load of={recent}>
      {(data) => (
        <Card title="Recent leads" about={aboutText(data)}>
          <Choice label="Order" options={orders} chosen={order} choose={setOrder} />
          <div role="status">
            <LeadTable label={`Leads, ${order}`} leads={data[order]} isChange={order === 'changed'} />
          </div>
        </Card>
      )}
    </Load>
  );
}

const aboutText = ({ predictions, since }: Recent): string =>
  since === undefined
    ? 'No live key has scored a lead yet.'
    : `Among the newest ${countText(predictions)} predictions, since ${instantText(since)}.`;

function LeadTable(props: { readonly label: string; readonly leads: Recent['newest']; readonly isChange: boolean }) {
  const { base } = useOrganisation();
  if (props.leads.length === 0)
    return <p class="soft">{props.isChange ? 'No lead was scored twice with another result.' : 'No leads.'}</p>;
  return (
    <Table
      label={props.label}
      columns={['Lead', 'Score', 'Change', 'Scored on', 'Model']}
      rows={props.leads.map(({ crm_id: id, score, delta, scored_at: at, model_name: name, model_id: model }) => [
        <a key="link" href={`${base}/leads/${encodeURIComponent(id)}`}>
          <code>{id}</code>
        </a>,
        <strong key="score">{score}</strong>,
        <Delta key="delta" of={delta} none="–" />,
        instantText(at),
        name ?? <code key="model">{model}</code>,
      ])}
    />
  );
}
