import { useEffect, useState } from 'preact/hooks';
import type { searchLeadsOutput } from '../../../../../shared/admin/schemas/leads.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { Spark } from '../../charts/spark.js';
import { dayText } from '../../parts/formats.js';
import { Field } from '../../parts/forms/field.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { RecentLeads } from './recent-leads.js';

type Found = ShapeOf<typeof searchLeadsOutput>;
type FoundLead = Found['leads'][number];

const minLength = 2;
const maxLeads = 20;
const pauseMs = 250;

/** Finds leads by the beginning of their crm_id, with the latest score of each. Without a search, shows recent ones. */
export function LeadsPage() {
  const { api, base } = useOrganisation();
  const [typed, setTyped] = useState('');
  const [prefix, setPrefix] = useState('');
  useEffect(() => {
    // A search for each key press would load the database without need.
    const timer = setTimeout(() => setPrefix(typed.trim()), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  const isLong = prefix.length >= minLength;
  const path = isLong ? `${api}/leads?prefix=${encodeURIComponent(prefix)}` : undefined;
  const found = useLoad<Found>(path);
  return (
    <Page title="Leads" about="Leads that a live key has scored, with their histories and reasons.">
      <Card title="Find a lead">
        <Field
          label="crm_id begins with"
          type="search"
          value={typed}
          set={setTyped}
          maxLength={255}
          hint="At least two characters. Capital letters count, except in a Salesforce id of 18 characters."
        />
        {isLong && (
          <Load of={found}>
            {({ leads }) => (
              <div role="status">
                {leads.length === 0 ? <NoLead /> : <FoundLeads leads={leads} base={base} />}
                {leads.length >= maxLeads && (
                  <p class="small soft">These are the first {maxLeads}. Type more characters to find others.</p>
                )}
              </div>
            )}
          </Load>
        )}
      </Card>
      {!isLong && <RecentLeads />}
    </Page>
  );
}

function NoLead() {
  return (
    <>
      <p>No lead with this beginning. Check capital letters.</p>
      <p class="small soft">A test key stores no scores. Scores of erased leads and past retention are removed.</p>
    </>
  );
}

function FoundLeads({ leads, base }: Found & { readonly base: string }) {
  return (
    <Table
      label="Found leads"
      columns={['Lead', 'Score', 'Last scores', 'Scored on', 'Model']}
      rows={leads.map(({ crm_id: id, latest }) => {
        const link = (
          <a key="link" href={`${base}/leads/${encodeURIComponent(id)}`}>
            <code>{id}</code>
          </a>
        );
        if (latest === undefined) return [link, 'no stored score', '', '', ''];
        const { score, scores, scored_at: at } = latest;
        const label = `Last scores, oldest first: ${scores.join(', ')}`;
        return [
          link,
          <strong key="score">{score}</strong>,
          <Spark key="spark" values={scores} top={100} label={label} />,
          dayText(at),
          <ModelName key="model" of={latest} />,
        ];
      })}
    />
  );
}

/** The model of the latest score. */
function ModelName({ of: latest }: { readonly of: NonNullable<FoundLead['latest']> }) {
  const { model_name: name, model_id: id, version, other_models: others } = latest;
  return (
    <>
      {name ?? <code>{id}</code>}, {version}
      {others > 0 && (
        <p class="small soft">also scored by {others === 1 ? 'another model' : `${others} other models`}</p>
      )}
    </>
  );
}
