import { useEffect, useState } from 'preact/hooks';
import type { searchLeadsOutput } from '../../../../../shared/admin/schemas/leads.js';
import type { ShapeOf } from '../../../../../shared/admin/schemas/schema.js';
import { Field } from '../../parts/forms/field.js';
import { Card, Load, Page } from '../../parts/page.js';
import { usePlace } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';

const minLength = 2;
const maxLeads = 20;
const pauseMs = 250;

/** Finds leads by the beginning of their crm_id. */
export function LeadsPage() {
  const { api, base } = usePlace();
  const [typed, setTyped] = useState('');
  const [prefix, setPrefix] = useState('');
  useEffect(() => {
    // A search for each key press would load the database without need.
    const timer = setTimeout(() => setPrefix(typed.trim()), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  const isLong = prefix.length >= minLength;
  const path = isLong ? `${api}/leads?prefix=${encodeURIComponent(prefix)}` : undefined;
  const found = useLoad<ShapeOf<typeof searchLeadsOutput>>(path);
  return (
    <Page title="Leads" about="Leads that a live key has scored, with their histories and reasons.">
      <Card title="Find a lead">
        <Field
          label="crm_id begins with"
          type="search"
          value={typed}
          set={setTyped}
          maxLength={255}
          hint="At least two characters. Capital letters count."
        />
        {isLong && (
          <Load of={found}>
            {({ leads }) => (
              <div role="status">
                {leads.length === 0 && <p class="soft">No lead with this beginning. Check capital letters.</p>}
                <ul class="rows">
                  {leads.map(({ crm_id: id }) => (
                    <li key={id}>
                      <a href={`${base}/leads/${encodeURIComponent(id)}`}>
                        <code>{id}</code>
                      </a>
                    </li>
                  ))}
                </ul>
                {leads.length >= maxLeads && (
                  <p class="small soft">These are the first {maxLeads}. Type more characters to find others.</p>
                )}
              </div>
            )}
          </Load>
        )}
      </Card>
    </Page>
  );
}
