import { crmIdSchema, modelIdSchema } from './score-request.js';

/*
 * The bodies of `POST /v1/webhooks/score`, as CRMs and automation tools send them. `webhook/` reads them by hand, since
 * one form shades into the next; a test holds that what these schemas accept is read, and what they refuse is not.
 */

/** True or false, in the spellings that tools use. */
const webhookExplainSchema = {
  enum: [true, false, 1, 0, 'true', 'false', '1', '0'],
  description: 'Whether to add `drivers` and top reasons to the answer.',
} as const;

const { minLength: _, ...modelIdOrEmpty } = modelIdSchema;

/** The members that are not fields of the record. Of an id, null and an empty text count as not sent. */
const settings = {
  model_id: {
    ...modelIdOrEmpty,
    type: ['string', 'null'],
    description: 'The trained model to score against, unless the address has it: `?model_id=mdl_...`.',
  },
  crm_id: {
    ...crmIdSchema,
    type: ['string', 'null'],
    description:
      'Your id of the record. When absent, the first of `hs_object_id`, `vid`, `objectId`, `object.objectId`, `Id` and ' +
      '`id` is taken, as text.',
  },
  explain: webhookExplainSchema,
} as const;

const anyObject = { type: 'object', additionalProperties: true } as const;
const notAnObject = { type: ['string', 'number', 'boolean', 'array', 'null'] } as const;
const plainValue = { type: ['string', 'number', 'boolean'] } as const;
const fields = { ...anyObject, description: 'The fields of the record.' } as const;

/** What a form of body is told apart by: each is looked for in this order. */
export const canonicalWebhookSchema = {
  type: 'object',
  required: ['record'],
  properties: { ...settings, record: fields },
  additionalProperties: true,
  description: 'The plain form: settings, and the record as an object of its own.',
} as const;

/** A HubSpot custom action: the answer has `outputFields` too. */
export const hubSpotActionSchema = {
  type: 'object',
  required: ['inputFields'],
  properties: {
    ...settings,
    callbackId: {
      type: 'string',
      maxLength: crmIdSchema.maxLength,
      pattern: crmIdSchema.pattern,
      format: crmIdSchema.format,
      description:
        'Acts as the `Idempotency-Key` when none is sent: HubSpot repeats a call under the same id.',
    },
    inputFields: fields,
    record: plainValue,
  },
  additionalProperties: true,
  description: 'What a custom action of HubSpot sends: the record is in `inputFields`.',
} as const;

export const hubSpotWorkflowSchema = {
  type: 'object',
  required: ['properties'],
  properties: {
    ...settings,
    properties: {
      ...fields,
      description: 'The fields of the record; each value plain, or in an object with a member `value`.',
    },
    record: plainValue,
    inputFields: notAnObject,
  },
  additionalProperties: true,
  description: 'What a workflow of HubSpot sends: the record is in `properties`.',
} as const;

export const pipedriveSchema = {
  type: 'object',
  required: ['meta', 'data'],
  properties: {
    ...settings,
    meta: anyObject,
    data: { ...fields, description: 'The fields of the record; those in `custom_fields` count too.' },
    record: plainValue,
    inputFields: notAnObject,
    properties: notAnObject,
  },
  additionalProperties: true,
  description: 'What a webhook of Pipedrive sends: the record is in `data`.',
} as const;

/** Whatever is none of the other forms. */
export const flatWebhookSchema = {
  type: 'object',
  properties: {
    ...settings,
    record: plainValue,
    inputFields: notAnObject,
    properties: notAnObject,
    meta: notAnObject,
  },
  additionalProperties: true,
  description:
    'What Salesforce, Zapier and most other tools send: settings and fields side by side. `model_id`, `crm_id` and ' +
    '`explain` are settings, everything else is a field.',
} as const;

/** What n8n puts around a record: one of its items, or what its Webhook node has received. */
export const n8nSchema = {
  anyOf: [
    {
      type: 'object',
      required: ['json'],
      properties: {
        ...settings,
        json: { ...anyObject, description: 'The body.' },
        pairedItem: { description: 'Ignored.' },
        binary: { description: 'Ignored.' },
      },
      additionalProperties: false,
      description: 'An item: `json` holds a body of any other form.',
    },
    {
      type: 'object',
      required: ['headers', 'body'],
      properties: {
        ...settings,
        headers: { ...anyObject, description: 'Ignored.' },
        body: {
          anyOf: [anyObject, { type: 'array', minItems: 1, maxItems: 1, items: anyObject }],
          description: 'The body, or a list with it as its one element.',
        },
      },
      additionalProperties: true,
      description: 'What a Webhook node has received: `body` holds a body of any other form.',
    },
  ],
  description: 'What n8n sends when it hands on what it has as it is.',
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
      description: 'Any of the other forms as the one element of an array.',
    },
  ],
  description: 'One record, in the form in which the tool sends it.',
} as const;

/** The same as a form, as `application/x-www-form-urlencoded`: every value is text. */
export const webhookFormSchema = {
  type: 'object',
  minProperties: 1,
  propertyNames: { pattern: crmIdSchema.pattern },
  properties: {
    model_id: { ...settings.model_id, type: 'string' },
    crm_id: { ...settings.crm_id, type: 'string' },
    explain: { ...webhookExplainSchema, type: 'string', enum: ['true', 'false', '1', '0'] },
  },
  additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
  description: 'Settings and fields side by side; a field that comes several times holds several values.',
} as const;
