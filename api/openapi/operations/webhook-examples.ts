import type { Examples } from '../openapi-types.js';
import {
  exampleFields,
  exampleModelId,
  exampleReasons,
  exampleUsage,
  exampleVerdict,
} from './example-values.js';

/** What tools send to the webhook, by the name of the tool or form. */
export const webhookRequestExamples: Examples = {
  canonical: {
    summary: 'The plain form',
    value: { model_id: exampleModelId, crm_id: 'LEAD-00042', explain: true, record: exampleFields },
  },
  flat: {
    summary: 'Salesforce, Zapier and others: settings and fields side by side',
    value: { model_id: exampleModelId, Id: '00QxxLEAD00042', ...exampleFields },
  },
  hubSpotWorkflow: {
    summary: 'A workflow of HubSpot, with ?model_id= in the address',
    value: {
      objectId: 51,
      properties: { lead_source: { value: 'Webinar' }, company_size: { value: '120' } },
    },
  },
  hubSpotAction: {
    summary: 'A custom action of HubSpot',
    value: {
      callbackId: 'ap-102670506-56777914962-11-0',
      origin: { portalId: 102670506 },
      object: { objectId: 51, objectType: 'CONTACT' },
      inputFields: { model_id: exampleModelId, ...exampleFields },
    },
  },
  pipedrive: {
    summary: 'A webhook of Pipedrive, with ?model_id= in the address',
    value: {
      meta: { action: 'change', entity: 'deal', version: '2.0' },
      data: { id: 42, lead_source: 'Webinar', custom_fields: { company_size: { value: 120 } } },
    },
  },
};

const flatRow = {
  score: 87,
  conversion_likelihood: 0.6214,
  enriched: true,
  crm_id: 'LEAD-00042',
  previous_score: 74,
  delta: 13,
};
const flatMembers = {
  model_id: exampleModelId,
  usage_remaining: String(exampleUsage.remaining),
  validation_state: exampleVerdict.state,
  validation_summary: exampleVerdict.summary,
};
const objects = { usage: exampleUsage, validation: exampleVerdict };

/** What the webhook answers. */
export const webhookReplyExamples: Examples = {
  flat: { summary: 'One flat object', value: { ...flatRow, ...exampleReasons, ...flatMembers, ...objects } },
  hubSpotAction: {
    summary: 'To a custom action of HubSpot',
    value: {
      ...flatRow,
      ...flatMembers,
      ...objects,
      outputFields: { ...flatRow, ...flatMembers, hs_execution_state: 'SUCCESS' },
    },
  },
};
