import { newId } from '../../../shared/contract/identifiers.js';
import { type BadInput, goodBody, lead, readingCall, scoreCall } from './bad-input.js';

const toModel =
  (modelId: string | ((rig: Parameters<BadInput['call']>[0]) => string)): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, {
      model_id: typeof modelId === 'string' ? modelId : modelId(rig),
      records: [lead],
    });

const reading =
  (path: string, method?: string): BadInput['call'] =>
  (rig) =>
    readingCall(rig, path, method);

const posted =
  (path: string): BadInput['call'] =>
  (rig) => ({ ...scoreCall(rig, goodBody(rig)), path });

const rowsAs =
  (as: BadInput['as']) =>
  ([name, call, says]: [string, BadInput['call'], RegExp]): BadInput => ({ name, call, as, says });

const noModel = /no model with this model_id/;

/** 404 model_not_found: what the organisation does not have. */
export const noSuchModels: readonly BadInput[] = (
  [
    ['a model of another organisation', toModel(({ foreignModel }) => foreignModel._id), noModel],
    ['an unknown model', toModel(newId('mdl')), noModel],
    ['a path for a model', toModel('mdl_../x'), noModel],
    ['a model that was deleted', toModel(({ deletedModel }) => deletedModel._id), noModel],
    ['a model with NUL in its id', toModel('mdl_\0'), noModel],
    ['a model with half a surrogate pair in its id', toModel('mdl_\ud800'), noModel],
    ['__proto__ for a model', toModel('__proto__'), noModel],
    [
      'another organisation’s model, read',
      (rig) => readingCall(rig, `/v1/models/${rig.foreignModel._id}`),
      noModel,
    ],
    ['an unknown model, read', reading('/v1/models/mdl_nothing'), noModel],
    ['a model whose id is no UTF-8, read', reading('/v1/models/%ff'), noModel],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(rowsAs('404 model_not_found'));

const nothingAt = /nothing at/;
const nothingScored = /Nothing has been scored under this crm_id/;

/** 404 not_found: addresses at which there is nothing. */
export const noSuchPlaces: readonly BadInput[] = (
  [
    ['an unknown path', posted('/v1/scoring'), nothingAt],
    ['the root', reading('/'), nothingAt],
    ['another version', posted('/v2/score'), nothingAt],
    ['a double slash', posted('//v1/score'), nothingAt],
    ['a double slash within', posted('/v1//score'), nothingAt],
    ['dots', posted('/v1/x/../score'), nothingAt],
    ['percent-encoded slashes', posted('/v1%2Fscore'), nothingAt],
    ['a path of broken percent-encoding', reading('/v1/%E0%A4%A'), nothingAt],
    ['NUL in the path', reading('/v1/usage%00'), nothingAt],
    ['one level more', reading('/v1/scores/L-1/x'), nothingAt],
    ['no crm_id', reading('/v1/scores/'), nothingAt],
    ['an unknown crm_id', reading('/v1/scores/L-unknown'), nothingScored],
    ['an unknown crm_id, deleted', reading('/v1/scores/L-unknown', 'DELETE'), nothingScored],
    ['a crm_id of broken percent-encoding', reading('/v1/scores/%E0%A4%A'), nothingScored],
    ['a crm_id of lone surrogates', reading('/v1/scores/%ED%A0%80'), nothingScored],
    ['a crm_id with NUL', reading('/v1/scores/L%00'), nothingScored],
    ['a crm_id of 8 kB', reading(`/v1/scores/${'L'.repeat(8_000)}`), nothingScored],
    ['__proto__ for a crm_id', reading('/v1/scores/__proto__'), nothingScored],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(rowsAs('404 not_found'));

/** 405: methods that an address does not take. HEAD, whose reply has no body, is tested apart. */
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
    ['POST', '/v1/models', 'HEAD, GET'],
    ['PATCH', '/v1/models/mdl_1', 'HEAD, GET'],
    ['POST', '/v1/scores/L-1', 'HEAD, GET, DELETE'],
  ] satisfies [string, string, string][]
).map(([method, path, allow]) => ({
  name: `${method} ${path}`,
  call: reading(path, method),
  as: '405 method_not_allowed',
  says: new RegExp(`takes ${allow}, not ${method}`),
}));

/** 422: reading calls with parameters that cannot be read. */
export const badQueries: readonly BadInput[] = (
  [
    ['limit of nothing', reading('/v1/scores/L-1?limit='), /limit must be/],
    ['limit 0', reading('/v1/scores/L-1?limit=0'), /limit must be a whole number from 1 to 200/],
    ['limit 201', reading('/v1/scores/L-1?limit=201'), /limit must be/],
    ['a negative limit', reading('/v1/scores/L-1?limit=-1'), /limit must be/],
    ['a fraction for a limit', reading('/v1/scores/L-1?limit=1.5'), /limit must be/],
    ['1e2 for a limit', reading('/v1/scores/L-1?limit=1e2'), /limit must be/],
    ['two limits', reading('/v1/scores/L-1?limit=1&limit=2'), /limit must come once/],
    ['a cursor that is none', reading('/v1/scores/L-1?cursor=abc'), /cursor must be/],
    ['an empty cursor', reading('/v1/scores/L-1?cursor='), /cursor must be/],
    ['an operator for a cursor', reading('/v1/scores/L-1?cursor[$gt]=&cursor=%00'), /cursor must be/],
    ['two models', reading('/v1/scores/L-1?model_id=a&model_id=b'), /model_id must come once/],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(rowsAs('422 bad_request'));
