import { newId } from '../../../shared/contract/identifiers.js';
import { type BadInput, goodBody, lead, readingCall, rowsAs, scoreCall } from './bad-input.js';
import type { BadInputRig } from './rig.js';

const toModel =
  (modelId: string | ((rig: BadInputRig) => string)): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, {
      model_id: typeof modelId === 'string' ? modelId : modelId(rig),
      records: [lead],
    });

const posted =
  (path: string): BadInput['call'] =>
  (rig) => ({ ...scoreCall(rig, goodBody(rig)), path });

const noModel = /no model with this model_id/;

/** 404 of `POST /v1/score`. */
export const unknownScoreModels = rowsAs('404 model_not_found', [
  ['a model of another organisation', toModel(({ foreignModel }) => foreignModel._id), noModel],
  ['an unknown model', toModel(newId('mdl')), noModel],
  ['a path as the model_id', toModel('mdl_../x'), noModel],
  ['a deleted model', toModel(({ deletedModel }) => deletedModel._id), noModel],
  ['a model_id with NUL', toModel('mdl_\0'), noModel],
  ['a model_id with half a surrogate pair', toModel('mdl_\ud800'), noModel],
  ['__proto__ as the model_id', toModel('__proto__'), noModel],
]);

/** 404 of `GET /v1/models/{model_id}`. */
export const unknownReadModels = rowsAs('404 model_not_found', [
  ['GET of a model of another organisation', (rig) => readingCall(`/v1/models/${rig.foreignModel._id}`)(rig), noModel],
  ['GET of an unknown model', readingCall('/v1/models/mdl_nothing'), noModel],
  ['GET of a model_id that is not UTF-8', readingCall('/v1/models/%ff'), noModel],
]);

const nothingAt = /nothing at/;

/** 404 of addresses without an endpoint. */
export const unknownAddresses = rowsAs('404 not_found', [
  ['an unknown path', posted('/v1/scoring'), nothingAt],
  ['an unknown API version', posted('/v2/score'), nothingAt],
  ['a double slash at the start', posted('//v1/score'), nothingAt],
  ['a double slash within the path', posted('/v1//score'), nothingAt],
  ['dot segments', posted('/v1/x/../score'), nothingAt],
  ['percent-encoded slashes', posted('/v1%2Fscore'), nothingAt],
  ['broken percent-encoding', readingCall('/v1/%E0%A4%A'), nothingAt],
  ['NUL in the path', readingCall('/v1/usage%00'), nothingAt],
  ['a segment after the crm_id', readingCall('/v1/scores/L-1/x'), nothingAt],
  ['/v1/scores/ without a crm_id', readingCall('/v1/scores/'), nothingAt],
]);

const nothingScored = /Nothing has been scored under this crm_id/;

/** 404 of `/v1/scores/{crm_id}`. */
export const unknownLeads = rowsAs('404 not_found', [
  ['GET of an unknown crm_id', readingCall('/v1/scores/L-unknown'), nothingScored],
  ['DELETE of an unknown crm_id', readingCall('/v1/scores/L-unknown', 'DELETE'), nothingScored],
  ['a crm_id with broken percent-encoding', readingCall('/v1/scores/%E0%A4%A'), nothingScored],
  ['a crm_id of lone surrogates', readingCall('/v1/scores/%ED%A0%80'), nothingScored],
  ['a crm_id with NUL', readingCall('/v1/scores/L%00'), nothingScored],
  ['a crm_id of 8 kB', readingCall(`/v1/scores/${'L'.repeat(8_000)}`), nothingScored],
  ['__proto__ as the crm_id', readingCall('/v1/scores/__proto__'), nothingScored],
]);

/** 405. HEAD has its own test, because its reply has no body. */
export const badMethods: readonly BadInput[] = (
  [
    ['GET', '/v1/score', 'POST'],
    ['PUT', '/v1/score', 'POST'],
    ['OPTIONS', '/v1/score', 'POST'],
    ['TRACE', '/v1/score', 'POST'],
    ['PROPFIND', '/v1/score', 'POST'],
    ['GET', '/v1/webhooks/score', 'POST'],
    ['GET', '/score', 'POST'],
    ['DELETE', '/webhooks/score', 'POST'],
    ['POST', '/v1/usage', 'HEAD, GET'],
    ['POST', '/v1/usage/daily', 'HEAD, GET'],
    ['POST', '/v1/models', 'HEAD, GET'],
    ['PATCH', '/v1/models/mdl_1', 'HEAD, GET'],
    ['POST', '/v1/scores/L-1', 'HEAD, GET, DELETE'],
    ['GET', '/v1/outcomes', 'POST'],
    ['GET', '/v1/webhooks/outcome', 'POST'],
  ] satisfies [string, string, string][]
).map(([method, path, allow]) => ({
  name: `${method} ${path}`,
  call: readingCall(path, method),
  as: '405 method_not_allowed',
  says: new RegExp(`takes ${allow}, not ${method}`),
}));

const badLimit = /limit must be/;
const badCursor = /cursor must be/;

/** 422 of `GET /v1/scores/{crm_id}`. */
export const badQueries = rowsAs('422 bad_request', [
  ['an empty limit', readingCall('/v1/scores/L-1?limit='), badLimit],
  ['limit=0', readingCall('/v1/scores/L-1?limit=0'), /limit must be a whole number from 1 to 200/],
  ['limit=201', readingCall('/v1/scores/L-1?limit=201'), badLimit],
  ['a negative limit', readingCall('/v1/scores/L-1?limit=-1'), badLimit],
  ['a fractional limit', readingCall('/v1/scores/L-1?limit=1.5'), badLimit],
  ['limit=1e2', readingCall('/v1/scores/L-1?limit=1e2'), badLimit],
  ['two limits', readingCall('/v1/scores/L-1?limit=1&limit=2'), /limit must come once/],
  ['an invalid cursor', readingCall('/v1/scores/L-1?cursor=abc'), badCursor],
  ['an empty cursor', readingCall('/v1/scores/L-1?cursor='), badCursor],
  ['a MongoDB operator as the cursor', readingCall('/v1/scores/L-1?cursor[$gt]=&cursor=%00'), badCursor],
  ['two model_ids', readingCall('/v1/scores/L-1?model_id=a&model_id=b'), /model_id must come once/],
]);
