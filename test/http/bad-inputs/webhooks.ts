import { type BadInput, type BadInputRow, rowsAs, webhookCall } from './bad-input.js';
import { tooManyNames, wideFields } from './records.js';

/** A flat webhook with a model, a valid field and further members. */
const flat =
  (members: Readonly<Record<string, unknown>>, query = ''): BadInput['call'] =>
  (rig) => {
    const call = webhookCall(rig, { model_id: rig.own.model._id, company_size: 5, ...members });
    return { ...call, path: `${call.path}${query}` };
  };

/** A body with a content type. `{{model_id}}` is replaced by the model's id. */
const sent =
  (body: string | Buffer, type = 'application/json', query = ''): BadInput['call'] =>
  (rig) => {
    const text = typeof body === 'string' ? body.replaceAll('{{model_id}}', rig.own.model._id) : body;
    const call = webhookCall(rig, text, { 'Content-Type': type });
    return { ...call, path: `${call.path}${query}` };
  };

const form = 'application/x-www-form-urlencoded';
const types = /Send the record as application\/json, application\/x-www-form-urlencoded, or JSON in text\/plain/;
const hubSpotEvent =
  '{"eventId":1,"subscriptionId":2,"portalId":3,"appId":4,"occurredAt":1700000000000,' +
  '"subscriptionType":"contact.propertyChange","attemptNumber":0,"objectId":5,"propertyName":"email","propertyValue":"a"}';
const whatInstead = /HubSpot app event.*Use a workflow with "Send a webhook"/;

/** 422 of `POST /v1/webhooks/score`. */
export const badWebhooks = rowsAs('422 bad_request', [
  ['no Content-Type', sent('{}', ''), types],
  ['an XML webhook', sent('<soapenv:Envelope/>', 'text/xml'), types],
  [
    'a multipart webhook',
    sent('--x--', 'multipart/form-data; boundary=x'),
    /multipart\/form-data is not read: send the same fields as/,
  ],
  ['a form in UTF-16', sent('a=1', `${form}; charset=utf-16`), /declares the charset "utf-16": send UTF-8/],
  ['an empty body', sent(''), /body is empty/],
  ['an empty form', sent('', form), /form is empty/],
  ['an empty text/plain body', sent(' ', 'text/plain'), /body is empty/],
  ['text/plain that is not JSON', sent('company_size: 5', 'text/plain'), /not valid JSON/],
  ['a form with broken percent-encoding', sent('model_id=m&a=%E0%A4%A', form), /not percent-encoded UTF-8/],
  ['a form in Latin-1', sent(Buffer.from('a=\xfc', 'latin1'), form), /must be UTF-8/],
  ['a form with NUL in a field name', sent('model_id=m&a%00=1', form), /name in the form contains a NUL/],
  ['truncated JSON', sent('{"model_id":'), /not valid JSON/],
  ['a body that is null', sent('null'), /must be an object/],
  ['a body that is a number', sent('5'), /must be an object/],
  ['a body that is a string', sent('"{}"'), /must be an object/],
  ['an empty array', sent('[]'), /array of 0/],
  ['an array of two records', sent('[{"model_id":"m"},{"model_id":"m"}]'), /array of 2: a webhook scores one record/],
  [
    'an array in an array',
    sent('[[{"model_id":"m"}]]'),
    /an array within an array: a webhook scores one record, an object or/,
  ],
  ['an array of null', sent('[null]'), /must be an object/],
  ['no model_id', sent('{"company_size":5}'), /model_id is missing: put it in the body, or in the address/],
  [
    'a misspelt model_id',
    sent('{"ModelId":"m","company_size":5}'),
    /^model_id is missing: rename "ModelId" to "model_id", or put it in the body, or in the address as/,
  ],
  ['a number as model_id', flat({ model_id: 5 }), /model_id must be a string/],
  ['a MongoDB operator as model_id', flat({ model_id: { $ne: null } }), /model_id must be a string/],
  ['a model_id of 256 characters', flat({ model_id: 'm'.repeat(256) }), /model_id must be a string of 1-255/],
  [
    'two model_ids in the query',
    sent('{"company_size":5}', undefined, '?model_id=a&model_id=b'),
    /model_id must come once in the address/,
  ],
  [
    'a whole number of 2^53 as crm_id',
    flat({ crm_id: 2 ** 53 }),
    /^crm_id is a whole number beyond 2\^53, .* quote it/,
  ],
  ['a fraction as crm_id', flat({ crm_id: 1.5 }), /crm_id must be a text or a whole number\.$/],
  ['an object as crm_id', flat({ crm_id: {} }), /crm_id must be a text or a whole number\.$/],
  ['a crm_id of 256 characters', flat({ crm_id: 'x'.repeat(256) }), /crm_id must have at most 255/],
  ['a crm_id with NUL', flat({ crm_id: 'x\0' }), /crm_id must have at most 255 characters, without NUL/],
  [
    'a crm_id with a lone surrogate',
    sent('{"model_id":"{{model_id}}","crm_id":"\\ud800"}'),
    /without NUL or half a surrogate|half of a surrogate pair/,
  ],
  ['explain: yes', flat({ explain: 'yes' }), /explain must be true, false, 1 or 0/],
  ['explain: null', flat({ explain: null }), /explain must be/],
  ['an empty explain', flat({ explain: '' }), /explain must be/],
  ['explain: 2', flat({ explain: 2 }), /explain must be/],
  ['an object as explain', flat({ explain: {} }), /explain must be/],
  ['explain=on in the query', flat({}, '?explain=on'), /explain must be/],
  ['explain twice in the query', flat({}, '?explain=1&explain=1'), /explain must come once in the/],
  ['input_report: all', flat({ input_report: 'all' }), /input_report must be "summary" or "records"\.$/],
  ['input_report: null', flat({ input_report: null }), /input_report must be/],
  ['input_report=1 in the query', flat({}, '?input_report=1'), /input_report must be/],
  [
    'a batch body',
    sent('{"model_id":"{{model_id}}","crm_id":"L-1","records":[{"company_size":5}]}'),
    /records is for POST \/v1\/score: a webhook scores one record/,
  ],
  ['record: null', sent('{"model_id":"{{model_id}}","record":null}'), /record must be an object/],
  ['an array as record', sent('{"model_id":"{{model_id}}","record":[{}]}'), /record must be an object/],
  [
    'a Pipedrive event about a deleted record',
    sent('{"model_id":"{{model_id}}","meta":{"action":"delete"},"data":null}'),
    /deleted record/,
  ],
  [
    'a number as callbackId',
    sent('{"model_id":"{{model_id}}","inputFields":{},"callbackId":5}'),
    /callbackId must be a string/,
  ],
  [
    'a callbackId of 256 characters',
    sent(`{"model_id":"{{model_id}}","inputFields":{},"callbackId":"${'c'.repeat(256)}"}`),
    /callbackId must be/,
  ],
  [
    'a callbackId with a lone surrogate',
    sent('{"model_id":"{{model_id}}","inputFields":{},"callbackId":"\\udc00"}'),
    /callbackId must be .*without NUL or half of a surrogate pair/,
  ],
  ['nesting of depth 33', sent(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`), /deeper than 32/],
  ['NUL in a key', sent('{"a\\u0000":1}'), /key in the body contains a NUL/],
]);

const fields = wideFields(7_000);
const wideInFormats: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'a flat webhook': fields,
  'a plain webhook': { record: fields },
  'a HubSpot action': { inputFields: fields },
  'a HubSpot workflow': { properties: fields },
  'a Pipedrive event': { meta: {}, data: { custom_fields: fields } },
  'an n8n webhook node': { headers: {}, body: fields },
};
const wideWebhooks = Object.entries(wideInFormats).map(([format, members]): BadInputRow => {
  const body = JSON.stringify({ model_id: '{{model_id}}', ...members });
  return [`${format} with field names of more than 262,144 characters`, sent(body), tooManyNames];
});

/** 400 of `POST /v1/webhooks/score`. */
export const refusedWebhooks = rowsAs('400 bad_request', [
  ['a HubSpot app event', sent(`[${hubSpotEvent}]`, undefined, '?model_id=m'), whatInstead],
  ['a HubSpot app event without its array', sent(hubSpotEvent), whatInstead],
  ['several HubSpot app events', sent(`[${hubSpotEvent},${hubSpotEvent}]`), whatInstead],
  [
    'HubSpot app events that an n8n Webhook node received',
    sent(`{"headers":{},"body":[${hubSpotEvent},${hubSpotEvent}]}`, undefined, '?model_id=m'),
    whatInstead,
  ],
  [
    'a Pipedrive webhook of version 1',
    flat({ v: 1, meta: { action: 'updated' }, current: { company_size: 5 }, previous: null }),
    /^This is a Pipedrive webhook of version 1: create a new webhook with version v2\.0\.$/,
  ],
  ['an object as a number', flat({ company_size: {} }), /^record\.company_size: expected a number, came an object/],
  [
    'a form with a field twice',
    sent('model_id={{model_id}}&company_size=1&company_size=2', form),
    /^record\.company_size: expected a number, came an array of 2/,
  ],
  [
    'a record without a known field',
    sent('{"model_id":"{{model_id}}","colour":"red"}'),
    /^record: expected at least one field that the model knows, came none \(it has "colour"\)\. GET \/v1\/models\/mdl_/,
  ],
  [
    'an unknown envelope',
    flat({ company_size: undefined, form_response: { company_size: 5 }, answers: [{ company_size: 5 }] }),
    /came none \(it has "form_response", an object; "answers", a list\)\. GET \/v1\/models\/mdl_\w+ lists the model's fields\./,
  ],
  ...wideWebhooks,
  [
    'a form with field names of more than 262,144 characters',
    sent(`model_id={{model_id}}&${Object.keys(fields).join('&')}`, form),
    tooManyNames,
  ],
  [
    'a webhook of more than 20,000 values',
    flat({ x: Array(20_000).fill(1) }),
    /more than 20000 values: send the fields/,
  ],
  ['a form of four million fields', sent('a&'.repeat(4_000_000), form), /more than 10000 fields/],
  ['a body over the limit', sent(' '.repeat(8 * 1024 * 1024 + 1)), /larger than 8388608 bytes: .*, or less of each/],
]);
