import { type BadInput, goodBody, lead, scoreCall } from './bad-input.js';

/** A good body with some members changed; undefined leaves one out. */
const withMembers =
  (members: Readonly<Record<string, unknown>>): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, { ...goodBody(rig), ...members });

/** A good body of one record with a crm_id, written as JSON. */
const withCrmId =
  (crmId: string): BadInput['call'] =>
  (rig) =>
    scoreCall(
      rig,
      `{"model_id":"${rig.own.model._id}","records":[{"company_size":5},{"company_size":5,"crm_id":${crmId}}]}`,
    );

/** 422: JSON of another shape than the contract's. */
export const badMembers: readonly BadInput[] = (
  [
    ['an empty object', (rig) => scoreCall(rig, {}), /model_id is missing/],
    ['model_id missing', withMembers({ model_id: undefined }), /model_id is missing/],
    ['model_id null', withMembers({ model_id: null }), /model_id must be of type string/],
    ['model_id a number', withMembers({ model_id: 5 }), /model_id must be of type string/],
    ['model_id an operator', withMembers({ model_id: { $ne: null } }), /model_id must be of type string/],
    [
      'model_id a list',
      (rig) => scoreCall(rig, { ...goodBody(rig), model_id: [rig.own.model._id] }),
      /model_id must be of type string/,
    ],
    ['model_id empty', withMembers({ model_id: '' }), /model_id must not be empty/],
    [
      'model_id of 10 kB',
      withMembers({ model_id: 'm'.repeat(10_000) }),
      /model_id must have at most 255 characters/,
    ],
    [
      'model_id only on the prototype',
      (rig) => scoreCall(rig, `{"__proto__":${JSON.stringify(goodBody(rig))}}`),
      /model_id is missing/,
    ],
    ['records missing', withMembers({ records: undefined }), /records is missing/],
    ['records null', withMembers({ records: null }), /records must be of type array/],
    ['records an object', withMembers({ records: { 0: lead } }), /records must be of type array/],
    ['records a text', withMembers({ records: JSON.stringify([lead]) }), /records must be of type array/],
    ['a record that is null', withMembers({ records: [lead, null] }), /records\[1\] must be of type object/],
    ['a record that is a text', withMembers({ records: ['a'] }), /records\[0\] must be of type object/],
    ['a record that is a list', withMembers({ records: [[]] }), /records\[0\] must be of type object/],
    ['a record that is a number', withMembers({ records: [1] }), /records\[0\] must be of type object/],
    ['explain a text', withMembers({ explain: 'true' }), /explain must be of type boolean/],
    ['explain null', withMembers({ explain: null }), /explain must be of type boolean/],
    ['explain a number', withMembers({ explain: 1 }), /explain must be of type boolean/],
    ['crm_id null', withCrmId('null'), /records\[1\]\.crm_id must be of type string/],
    ['crm_id a number', withCrmId('17'), /records\[1\]\.crm_id must be of type string/],
    ['crm_id true', withCrmId('true'), /records\[1\]\.crm_id must be of type string/],
    ['crm_id an object', withCrmId('{"$gt":""}'), /records\[1\]\.crm_id must be of type string/],
    ['crm_id a list', withCrmId('["L-1"]'), /records\[1\]\.crm_id must be of type string/],
    [
      'crm_id of 256 characters',
      withCrmId(JSON.stringify('🦊'.repeat(256))),
      /records\[1\]\.crm_id must have at most 255 characters/,
    ],
    [
      'crm_id of 10 kB',
      withCrmId(JSON.stringify('x'.repeat(10_000))),
      /records\[1\]\.crm_id must have at most 255 characters/,
    ],
    [
      'crm_id with half a surrogate pair',
      withCrmId('"L\\ud83e"'),
      /records\[1\]\.crm_id contains a character/,
    ],
    ['crm_id with the other half', withCrmId('"\\udd8a"'), /records\[1\]\.crm_id contains a character/],
    ['crm_id with NUL', withCrmId('"L\\u0000"'), /records\[1\]\.crm_id contains a character/],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(([name, call, says]) => ({ name, call, as: '422 bad_request', says }));
