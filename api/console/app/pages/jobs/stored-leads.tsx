import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Field } from '../../parts/forms/field.js';
import { Switch } from '../../parts/forms/switch.js';
import { Card, Problem } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useSend } from '../../server/use-send.js';
import type { JobPage } from './job-words.js';

const defaults = { days: 90, rows: 50_000 };
const limits = { days: 365, rows: 2_000_000 };

/** The form that begins a job without a file: it scores the leads of a model once more. */
export function StoredLeads({ modelId }: { readonly modelId: string }) {
  const { api, base } = useOrganisation();
  const { route } = useLocation();
  const sender = useSend();
  const [days, setDays] = useState(String(defaults.days));
  const [rows, setRows] = useState(String(defaults.rows));
  const [explains, setExplains] = useState(false);
  const [usesGrace, setUsesGrace] = useState(false);
  const begin = async (event: Event) => {
    event.preventDefault();
    const job = await sender.send<JobPage>('POST', `${api}/stored-jobs`, {
      ...{ model_id: modelId, sent_within_days: Number(days), max_rows: Number(rows) },
      ...{ explain: explains, stop_at: usesGrace ? 'backstop' : 'limit' },
    });
    if (job !== undefined) route(`${base}/jobs/${job.job_id}`);
  };
  return (
    <Card
      title="Score stored leads"
      about="Each lead is scored from the values of its newest call, by the version that scores calls now. Each one counts."
    >
      <form class="stack" onSubmit={begin}>
        <div class="form">
          <Field
            {...{
              label: 'Days since they were sent, at most',
              type: 'number',
              isRequired: true,
              min: 1,
              max: limits.days,
            }}
            value={days}
            set={setDays}
            hint="By a call or a file, to this model. A job of stored leads sends nothing."
          />
          <Field
            {...{ label: 'Leads at most', type: 'number', isRequired: true, min: 1, max: limits.rows }}
            value={rows}
            set={setRows}
            hint="The leads that were sent last come first."
          />
        </div>
        <Switch label="Reasons in the results" isOn={explains} set={setExplains} />
        <Switch label="Go on beyond the limit, in the grace band" isOn={usesGrace} set={setUsesGrace} />
        <div class="row">
          <button type="submit" class="button main" disabled={sender.isBusy}>
            Score these leads again
          </button>
        </div>
        {sender.problem && <Problem problem={sender.problem} />}
      </form>
    </Card>
  );
}
