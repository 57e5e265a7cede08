import { useState } from 'preact/hooks';
import type { crmSchema } from '../../../../../shared/admin/schemas/leads.js';
import type { listModelsOutput } from '../../../../../shared/admin/schemas/models.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText, instantText } from '../../parts/formats.js';
import { Code } from '../../parts/forms/copy.js';
import { SelectField } from '../../parts/forms/field.js';
import { Card, Load, Page } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';

type Crm = ShapeOf<typeof crmSchema>;

/** Where each tool has the settings that the steps name. */
const tools: Readonly<Record<string, string>> = {
  HubSpot:
    'Open Automations, Workflows, and add the action "Send a webhook". Choose POST, authentication by API key, the name X-API-Key, and the request header. Choose "Include all properties".',
  Salesforce:
    'Create a Named Credential with the header X-API-Key, and an HTTP callout in a Flow that posts the fields of the record as JSON.',
  Pipedrive: 'Open Tools and apps, Webhooks, and create a webhook of version 2 for your object.',
  Zapier: 'Add the step "Webhooks by Zapier", POST. Put the fields into Data, and the key into Headers.',
  Make: 'Add the module HTTP, "Make a request". Choose POST, an API key in a header, and a JSON body.',
  n8n: 'Add the node HTTP Request. Choose POST, Header Auth with the name X-API-Key, and a JSON body.',
};

/** The steps that connect a CRM, and whether its calls arrive. */
export function CrmPage() {
  const { api, base } = useOrganisation();
  const crm = useLoad<Crm>(`${api}/crm`);
  const models = useLoad<ShapeOf<typeof listModelsOutput>>(`${api}/models`);
  const [tool, setTool] = useState('HubSpot');
  const [chosen, setModel] = useState('');
  const model = chosen || models.data?.models[0]?.model_id || 'YOUR_MODEL';
  return (
    <Page title="CRM set-up" about="Connect a CRM or an automation tool in three steps.">
      <Load of={crm}>
        {(data) => (
          <>
            <Card title="1. Create a key">
              <p>
                Create a live key on the page <a href={`${base}/keys`}>API keys</a>, and copy it.
              </p>
            </Card>
            <Card title="2. Paste address and key">
              <div class="form">
                <SelectField
                  label="Tool"
                  value={tool}
                  set={setTool}
                  options={Object.keys(tools).map((name) => [name, name])}
                />
                {models.data && models.data.models.length > 0 && (
                  <SelectField
                    label="Model"
                    value={model}
                    set={setModel}
                    options={models.data.models.map(({ model_id, name }) => [model_id, name])}
                  />
                )}
              </div>
              <p>{tools[tool]}</p>
              <Code label="Address" text={`${data.api_url}/v1/webhooks/score?model_id=${model}`} />
              <Code label="Header" text="X-API-Key: YOUR_API_KEY" />
            </Card>
            <Calls crm={data} reload={crm.reload} />
          </>
        )}
      </Load>
    </Page>
  );
}

function Calls({ crm, reload }: { readonly crm: Crm; readonly reload: () => void }) {
  const button = (
    <button type="button" class="button" onClick={reload}>
      Refresh
    </button>
  );
  return (
    <Card title="3. Watch calls arrive" aside={button}>
      {crm.first_call_at === null ? (
        <p class="note">No counted call yet. Send a record from the tool, then refresh.</p>
      ) : (
        <>
          <p class="note good">
            First call {instantText(crm.first_call_at)}, latest call {instantText(crm.last_call_at)}.
          </p>
          <Table
            label="Latest calls"
            columns={['Time', 'Key', 'Kind', 'Model', 'Records', 'Request']}
            rows={crm.calls.map((call) => [
              instantText(call.at),
              call.key_name ?? <code key="key">{call.key_id}</code>,
              call.bucket,
              call.model_name ?? <code key="model">{call.model_id}</code>,
              countText(call.records),
              <code key="request">{call.request_id}</code>,
            ])}
          />
        </>
      )}
    </Card>
  );
}
