import { type BadInput, webhookCall } from './bad-input.js';

/** A flat webhook with some members beside its model and a good field. */
const flat =
  (members: Readonly<Record<string, unknown>>, query = ''): BadInput['call'] =>
  (rig) => {
    const call = webhookCall(rig, { model_id: rig.own.model._id, company_size: 5, ...members });
    return { ...call, path: `${call.path}${query}` };
  };

/** A body as it is, under a content type; `{{model_id}}` stands for the model. */
const sent =
  (body: string | Buffer, type = 'application/json', query = ''): BadInput['call'] =>
  (rig) => {
    const text = typeof body === 'string' ? body.replaceAll('{{model_id}}', rig.own.model._id) : body;
    const call = webhookCall(rig, text, { 'Content-Type': type });
    return { ...call, path: `${call.path}${query}` };
  };

const form = 'application/x-www-form-urlencoded';
const types =
  /Send the record as application\/json, application\/x-www-form-urlencoded, or JSON in text\/plain/;
const hubSpotEvent =
  '{"eventId":1,"subscriptionId":2,"portalId":3,"appId":4,"occurredAt":1700000000000,' +
  '"subscriptionType":"contact.propertyChange","attemptNumber":0,"objectId":5,"propertyName":"email","propertyValue":"a"}';
const whatInstead = /HubSpot app event.*Use a workflow with "Send a webhook"/;

/** 422: webhooks that cannot be read. */
export const badWebhooks: readonly BadInput[] = (
  [
    ['no Content-Type', sent('{}', ''), types],
    ['XML', sent('<soapenv:Envelope/>', 'text/xml'), types],
    ['multipart', sent('--x--', 'multipart/form-data; boundary=x'), types],
    ['a form in UTF-16', sent('a=1', `${form}; charset=utf-16`), types],
    ['an empty body', sent(''), /body is empty/],
    ['an empty form', sent('', form), /form is empty/],
    ['an empty text', sent(' ', 'text/plain'), /body is empty/],
    ['a text that is no JSON', sent('company_size: 5', 'text/plain'), /not valid JSON/],
    ['a form of broken percent-encoding', sent('model_id=m&a=%E0%A4%A', form), /not percent-encoded UTF-8/],
    ['a form in Latin-1', sent(Buffer.from('a=\xfc', 'latin1'), form), /must be UTF-8/],
    ['a form with NUL in a name', sent('model_id=m&a%00=1', form), /name in the form contains a NUL/],
    ['truncated JSON', sent('{"model_id":'), /not valid JSON/],
    ['null', sent('null'), /must be an object/],
    ['a number', sent('5'), /must be an object/],
    ['a text', sent('"{}"'), /must be an object/],
    ['an empty list', sent('[]'), /array of 0/],
    ['a list of two', sent('[{"model_id":"m"},{"model_id":"m"}]'), /array of 2: a webhook scores one record/],
    [
      'a list of a list',
      sent('[[{"model_id":"m"}]]'),
      /an array within an array: a webhook scores one record, an object or/,
    ],
    ['a list of null', sent('[null]'), /must be an object/],
    ['no model_id', sent('{"company_size":5}'), /model_id is missing: put it in the body, or in the address/],
    ['model_id a number', flat({ model_id: 5 }), /model_id must be a string/],
    ['model_id an operator', flat({ model_id: { $ne: null } }), /model_id must be a string/],
    ['model_id of 256 characters', flat({ model_id: 'm'.repeat(256) }), /model_id must be a string of 1-255/],
    [
      'two models in the address',
      sent('{"company_size":5}', undefined, '?model_id=a&model_id=b'),
      /model_id must come once in the address/,
    ],
    [
      'crm_id a number',
      flat({ crm_id: 17 }),
      /crm_id must be a string; send an id that is a number as id\.$/,
    ],
    ['crm_id an object', flat({ crm_id: {} }), /crm_id must be a string\.$/],
    ['crm_id of 256 characters', flat({ crm_id: 'x'.repeat(256) }), /crm_id must have at most 255/],
    ['crm_id with NUL', flat({ crm_id: 'x\0' }), /crm_id must have at most 255 characters, without NUL/],
    [
      'crm_id with half a surrogate pair',
      sent('{"model_id":"{{model_id}}","crm_id":"\\ud800"}'),
      /without NUL or half a surrogate|half of a surrogate pair/,
    ],
    ['explain yes', flat({ explain: 'yes' }), /explain must be true, false, 1 or 0/],
    ['explain null', flat({ explain: null }), /explain must be/],
    ['explain empty', flat({ explain: '' }), /explain must be/],
    ['explain 2', flat({ explain: 2 }), /explain must be/],
    ['explain an object', flat({ explain: {} }), /explain must be/],
    ['explain in the address', flat({}, '?explain=on'), /explain must be/],
    ['explain twice in the address', flat({}, '?explain=1&explain=1'), /explain must come once in the/],
    [
      'the body of a batch',
      sent('{"model_id":"{{model_id}}","crm_id":"L-1","records":[{"company_size":5}]}'),
      /records is for POST \/v1\/score: a webhook scores one record/,
    ],
    ['record null', sent('{"model_id":"{{model_id}}","record":null}'), /record must be an object/],
    ['record a list', sent('{"model_id":"{{model_id}}","record":[{}]}'), /record must be an object/],
    [
      'a Pipedrive event about a deleted record',
      sent('{"model_id":"{{model_id}}","meta":{"action":"delete"},"data":null}'),
      /deleted record/,
    ],
    [
      'callbackId a number',
      sent('{"model_id":"{{model_id}}","inputFields":{},"callbackId":5}'),
      /callbackId must be a string/,
    ],
    [
      'callbackId of 256 characters',
      sent(`{"model_id":"{{model_id}}","inputFields":{},"callbackId":"${'c'.repeat(256)}"}`),
      /callbackId must be/,
    ],
    [
      'callbackId with half a surrogate pair',
      sent('{"model_id":"{{model_id}}","inputFields":{},"callbackId":"\\udc00"}'),
      /callbackId must be .*without NUL or half of a surrogate pair/,
    ],
    ['depth 33', sent(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`), /deeper than 32/],
    ['NUL in a key', sent('{"a\\u0000":1}'), /key in the body contains a NUL/],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(([name, call, says]) => ({ name, call, as: '422 bad_request', says }));

/** 400: webhooks that are read and refused. */
export const refusedWebhooks: readonly BadInput[] = (
  [
    ['a HubSpot app event', sent(`[${hubSpotEvent}]`, undefined, '?model_id=m'), whatInstead],
    ['a HubSpot app event without its list', sent(hubSpotEvent), whatInstead],
    ['several HubSpot app events', sent(`[${hubSpotEvent},${hubSpotEvent}]`), whatInstead],
    [
      'HubSpot app events in what a Webhook node of n8n received',
      sent(`{"headers":{},"body":[${hubSpotEvent},${hubSpotEvent}]}`, undefined, '?model_id=m'),
      whatInstead,
    ],
    [
      'a webhook of Pipedrive in version 1',
      flat({ v: 1, meta: { action: 'updated' }, current: { company_size: 5 }, previous: null }),
      /^This is a Pipedrive webhook of version 1: create a new webhook with version v2\.0\.$/,
    ],
    [
      'an object for a number',
      flat({ company_size: {} }),
      /^record\.company_size: expected a number, came an object/,
    ],
    [
      'a field twice in a form',
      sent('model_id={{model_id}}&company_size=1&company_size=2', form),
      /^record\.company_size: expected a number, came an array of 2/,
    ],
    [
      'nothing that the model knows',
      sent('{"model_id":"{{model_id}}","colour":"red"}'),
      /^record: expected at least one field that the model knows, came none \(it has "colour"\)\. GET \/v1\/models\/mdl_/,
    ],
    [
      'a form that is not known',
      flat({ company_size: undefined, form_response: { company_size: 5 }, answers: [{ company_size: 5 }] }),
      /came none \(it has "form_response", an object; "answers", a list\)\. GET \/v1\/models\/mdl_\w+ lists the model's fields\./,
    ],
    ['a form of four million fields', sent('a&'.repeat(4_000_000), form), /more than 10000 fields/],
    [
      'a body over the limit',
      sent(' '.repeat(8 * 1024 * 1024 + 1)),
      /larger than 8388608 bytes: .*, or less of each/,
    ],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(([name, call, says]) => ({ name, call, as: '400 bad_request', says }));
