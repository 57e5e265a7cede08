import { described, describedObject, flag, type Schema } from '../../../shared/contract/schema.js';
import { crmIdSchema, crmIdTextSchema, inputReportSchema, modelIdSchema, numberIdWords } from './score-request.js';

/*
 * The bodies of `POST /v1/webhooks/score` in the formats of CRMs and automation tools. `webhook/` parses them without
 * these schemas, because the formats overlap. A property test checks that both accept the same bodies.
 */

/** Generators of clients cannot make a type of the other spellings that tools use, so only words document them. */
export const webhookExplainSchema = described(
  'Whether to add `drivers` and top reasons to the reply. For tools that cannot send a boolean, 1, 0 and the texts ' +
    '`true`, `false`, `1` and `0` are read too. Absent: false.',
  flag,
);

const { minLength: _, ...modelIdOrEmpty } = modelIdSchema;

/** The id of a webhook's record. */
export const webhookCrmIdSchema = {
  ...crmIdSchema,
  type: ['string', 'integer', 'null'],
  description:
    'Your id of the record. When absent or a placeholder such as `NULL`, the first of `hs_object_id`, `vid`, ' +
    '`objectId`, `object.objectId`, `Id` and `id` is used, as text. In a body of HubSpot, `dealId` and `companyId` follow. ' +
    `Both forms of Salesforce's ids (15 and 18 characters) are one.${numberIdWords}`,
} as const;

/** The members that are not fields of the record. A null or empty id counts as absent. */
const settings = {
  'model_id?': {
    ...modelIdOrEmpty,
    type: ['string', 'null'],
    description: 'The trained model to score with. Optional when the query has it: `?model_id=mdl_...`.',
  },
  'crm_id?': webhookCrmIdSchema,
  'explain?': webhookExplainSchema,
  'input_report?': inputReportSchema,
} as const;

const anyObject = { type: 'object', additionalProperties: true } as const;
const notAnObject = { type: ['string', 'number', 'boolean', 'array', 'null'], items: {} } as const;
const plainValue = { type: ['string', 'number', 'boolean'] } as const;
const fields = described('The fields of the record.', anyObject);

const formatSchema = (description: string, members: Readonly<Record<string, Schema>>) =>
  describedObject(description, { ...settings, ...members }, { additionalProperties: true });

// The formats, in order of detection.

export const canonicalWebhookSchema = formatSchema('The plain format: settings, and the record as a nested object.', {
  record: fields,
});

/** The reply to this format has `outputFields`. */
export const hubSpotActionSchema = formatSchema('A HubSpot custom action: the record is in `inputFields`.', {
  'callbackId?': {
    type: 'string',
    maxLength: crmIdTextSchema.maxLength,
    pattern: crmIdTextSchema.pattern,
    format: crmIdTextSchema.format,
    description: 'Used as the `Idempotency-Key` when none is sent, because HubSpot retries a call under the same id.',
  },
  inputFields: fields,
  'record?': plainValue,
});

export const hubSpotWorkflowSchema = formatSchema('A HubSpot workflow: the record is in `properties`.', {
  properties: described('The fields of the record. Each value is plain or an object with a member `value`.', fields),
  'record?': plainValue,
  'inputFields?': notAnObject,
});

export const pipedriveSchema = formatSchema('A Pipedrive webhook: the record is in `data`.', {
  meta: anyObject,
  data: described('The fields of the record, including those in `custom_fields`.', fields),
  'record?': plainValue,
  'inputFields?': notAnObject,
  'properties?': notAnObject,
});

/** Any object in none of the other formats. */
export const flatWebhookSchema = formatSchema(
  'The format of Salesforce, Zapier and most other tools. `model_id`, `crm_id`, `explain` and ' +
    '`input_report` are settings; every other member is a field.',
  { 'record?': plainValue, 'inputFields?': notAnObject, 'properties?': notAnObject, 'meta?': notAnObject },
);

// The wrappers of n8n have names of their own: generators of clients cannot name the objects of an unnamed alternative.

export const n8nItemSchema = describedObject(
  'An item of n8n: `json` holds a body in any other format.',
  {
    ...settings,
    json: described('The body.', anyObject),
    'pairedItem?': { description: 'Ignored.' },
    'binary?': { description: 'Ignored.' },
  },
  { additionalProperties: false },
);

export const n8nNodeSchema = formatSchema(
  'The output of a Webhook node of n8n: `body` holds a body in any other format.',
  {
    headers: described('Ignored.', anyObject),
    body: {
      anyOf: [anyObject, { type: 'array', minItems: 1, maxItems: 1, items: anyObject }],
      description: 'The body, or an array with the body as its only element.',
    },
  },
);

export const n8nSchema = {
  anyOf: [n8nItemSchema, n8nNodeSchema],
  description: 'The format of n8n when it forwards an item unchanged.',
} as const;

const forms = [
  canonicalWebhookSchema,
  flatWebhookSchema,
  hubSpotActionSchema,
  hubSpotWorkflowSchema,
  pipedriveSchema,
  n8nSchema,
] as const;

/** The JSON body of a webhook. */
export const webhookRequestSchema = {
  anyOf: [
    ...forms,
    {
      type: 'array',
      minItems: 1,
      maxItems: 1,
      items: { anyOf: forms },
      description: 'Any of the other formats as the only element of an array.',
    },
  ],
  description: 'One record, in the format of the tool.',
} as const;

/** The body as `application/x-www-form-urlencoded`: every value is text. */
export const webhookFormSchema = {
  type: 'object',
  minProperties: 1,
  propertyNames: { pattern: crmIdTextSchema.pattern },
  properties: {
    model_id: { ...settings['model_id?'], type: 'string' },
    crm_id: { ...crmIdTextSchema, description: settings['crm_id?'].description },
    explain: webhookExplainSchema,
    input_report: inputReportSchema,
  },
  additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
  description:
    'Settings and fields. A repeated field holds several values, also as `field[]` or `field[0]`. A nested name ' +
    '(`contact[fields][lead_source]`) is read by its last part, unless another name is the same or ends alike. ' +
    '`contact[id]` is the id of the record.',
} as const;
