import { type BadInput, goodBody, lead, rowsAs, scoreCall } from './bad-input.js';

/** A valid body with some members changed; undefined removes one. */
const withMembers =
  (members: Readonly<Record<string, unknown>>): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, { ...goodBody(rig), ...members });

/** A valid body with a crm_id in the second record, given as JSON. */
const withCrmId =
  (crmId: string): BadInput['call'] =>
  (rig) =>
    scoreCall(
      rig,
      `{"model_id":"${rig.own.model._id}","records":[{"company_size":5},{"company_size":5,"crm_id":${crmId}}]}`,
    );

const noCrmId = /^records\[1\]\.crm_id must be of type string or integer\.$/;
const unsafeCrmId = /^records\[1\]\.crm_id is a whole number beyond 2\^53, .* quote it/;

/** 422 of `POST /v1/score`: JSON that breaks the schema. */
export const badMembers = rowsAs('422 bad_request', [
  ['an empty object', (rig) => scoreCall(rig, {}), /model_id is missing/],
  [
    'a misspelt model_id',
    withMembers({ model_id: undefined, modelId: 'm' }),
    /^model_id is missing: rename "modelId" to "model_id"\.$/,
  ],
  ['a missing model_id', withMembers({ model_id: undefined }), /model_id is missing/],
  ['model_id: null', withMembers({ model_id: null }), /model_id must be of type string/],
  ['a number as model_id', withMembers({ model_id: 5 }), /model_id must be of type string/],
  ['a MongoDB operator as model_id', withMembers({ model_id: { $ne: null } }), /model_id must be of type string/],
  [
    'an array as model_id',
    (rig) => scoreCall(rig, { ...goodBody(rig), model_id: [rig.own.model._id] }),
    /model_id must be of type string/,
  ],
  ['an empty model_id', withMembers({ model_id: '' }), /model_id must not be empty/],
  ['a model_id of 10 kB', withMembers({ model_id: 'm'.repeat(10_000) }), /model_id must have at most 255 characters/],
  [
    'model_id only in __proto__',
    (rig) => scoreCall(rig, `{"__proto__":${JSON.stringify(goodBody(rig))}}`),
    /model_id is missing/,
  ],
  ['missing records', withMembers({ records: undefined }), /records is missing/],
  ['records: null', withMembers({ records: null }), /records must be of type array/],
  ['an object as records', withMembers({ records: { 0: lead } }), /records must be of type array/],
  ['a string as records', withMembers({ records: JSON.stringify([lead]) }), /records must be of type array/],
  ['null as a record', withMembers({ records: [lead, null] }), /records\[1\] must be of type object/],
  ['a string as a record', withMembers({ records: ['a'] }), /records\[0\] must be of type object/],
  ['an array as a record', withMembers({ records: [[]] }), /records\[0\] must be of type object/],
  ['a number as a record', withMembers({ records: [1] }), /records\[0\] must be of type object/],
  ['a string as explain', withMembers({ explain: 'true' }), /explain must be of type boolean/],
  ['explain: null', withMembers({ explain: null }), /explain must be of type boolean/],
  ['a number as explain', withMembers({ explain: 1 }), /explain must be of type boolean/],
  ['an unknown input_report', withMembers({ input_report: 'all' }), /input_report must be "summary" or "records"/],
  ['input_report: true', withMembers({ input_report: true }), /^input_report must be "summary" or "records"\.$/],
  ['crm_id: null', withCrmId('null'), noCrmId],
  ['a fraction as crm_id', withCrmId('17.5'), noCrmId],
  ['crm_id: true', withCrmId('true'), noCrmId],
  ['an object as crm_id', withCrmId('{"$gt":""}'), noCrmId],
  ['an array as crm_id', withCrmId('["L-1"]'), noCrmId],
  ['a whole number of 2^53 as crm_id', withCrmId('9007199254740992'), unsafeCrmId],
  ['a whole number of -2^53 as crm_id', withCrmId('-9007199254740992'), unsafeCrmId],
  ['a crm_id of 400 digits', withCrmId('9'.repeat(400)), noCrmId],
  [
    'a crm_id of 256 characters',
    withCrmId(JSON.stringify('🦊'.repeat(256))),
    /records\[1\]\.crm_id must have at most 255 characters/,
  ],
  [
    'a crm_id of 10 kB',
    withCrmId(JSON.stringify('x'.repeat(10_000))),
    /records\[1\]\.crm_id must have at most 255 characters/,
  ],
  ['a crm_id with a lone high surrogate', withCrmId('"L\\ud83e"'), /records\[1\]\.crm_id contains a character/],
  ['a crm_id with a lone low surrogate', withCrmId('"\\udd8a"'), /records\[1\]\.crm_id contains a character/],
  ['a crm_id with NUL', withCrmId('"L\\u0000"'), /records\[1\]\.crm_id contains a character/],
]);
