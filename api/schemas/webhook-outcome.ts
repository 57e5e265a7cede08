import { described, describedObject, flag, list, text } from '../../shared/contract/schema.js';
import { crmIdTextSchema } from './scoring/score-request.js';
import { webhookCrmIdSchema } from './scoring/webhook-request.js';

/** The reply repeats the outcome. No CRM has a stage with a longer name. */
export const maxOutcome = 255;

const outcomeWords =
  '`won`, `lost` or another usual word (`1`, `true`, `yes`, `converted`; `0`, `false`, `no`, `open`), or a value of the ' +
  "organisation's `won_values` and `lost_values`, such as a stage of deals. Case does not count. Booleans and numbers are read " +
  'too. It is required, here or in the field that `outcome_field` of the address names.';
const atWords =
  'When the lead converted: an ISO 8601 date or date and time, or milliseconds since 1970. Without it a conversion counts from ' +
  'its first report. Ignored for a lead that has not converted.';

/** The JSON body of `POST /v1/webhooks/outcome`. The formats of tools are those of `webhookRequestSchema`. */
export const outcomeWebhookSchema = describedObject(
  'The outcome of one lead. The members may be in the record of any format of `POST /v1/webhooks/score`: `record`, `inputFields`, ' +
    '`properties`, or `data` beside `meta`. All other members are ignored.',
  {
    'crm_id?': webhookCrmIdSchema,
    'outcome?': { type: ['string', 'boolean', 'number', 'null'], maxLength: maxOutcome, description: outcomeWords },
    'at?': { type: ['string', 'number', 'null'], description: atWords },
  },
  { additionalProperties: true },
);

/** The body as a form. */
export const outcomeWebhookFormSchema = describedObject(
  'The outcome of one lead as a form. All other names are ignored.',
  {
    'crm_id?': { ...crmIdTextSchema, description: webhookCrmIdSchema.description },
    'outcome?': { type: 'string', maxLength: maxOutcome, description: outcomeWords },
    'at?': { type: 'string', description: atWords },
  },
  { minProperties: 1, additionalProperties: { type: ['string', 'array'], items: { type: 'string' } } },
);

const flatMembers = {
  crm_id: described('The id as it was sent, as text.', text),
  outcome: described('The outcome as it was sent.', text),
  converted: {
    type: ['boolean', 'null'],
    description: 'The meaning of the outcome; null if it means neither won nor lost.',
  },
  stored: described('Whether the outcome was stored: false if it means neither, and for test keys.', flag),
  'test?': { type: 'boolean', const: true, description: 'Present for test keys: nothing was stored.' },
} as const;

/** The reply of `POST /v1/webhooks/outcome`. */
export const outcomeWebhookReplySchema = describedObject('How the report was read, as a flat object.', {
  ...flatMembers,
  'notices?': described(
    'Sentences: an outcome that means neither won nor lost, and a lead without a stored score. Absent without any.',
    list(text),
  ),
  'outputFields?': describedObject(
    'Only for HubSpot custom actions: the flat members, in the object that HubSpot reads.',
    {
      ...flatMembers,
      hs_execution_state: {
        type: 'string',
        const: 'SUCCESS',
        description: 'Marks the action as successful for HubSpot.',
      },
    },
  ),
});

/** The schemas by their names in the document. */
export const outcomeWebhookSchemas = {
  OutcomeWebhook: outcomeWebhookSchema,
  OutcomeWebhookForm: outcomeWebhookFormSchema,
  V1OutcomeWebhookResponse: outcomeWebhookReplySchema,
} as const;
