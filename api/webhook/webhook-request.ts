import { ApiError } from '../../shared/errors.js';
import { type Envelope, openEnvelope } from './envelopes.js';
import { isMembers, type Members, memberOf } from './members.js';

/** What a webhook asks for, whichever tool sent it. */
export interface WebhookRequest {
  readonly modelId: string;
  readonly crmId: string | null;
  readonly explain: boolean;
  readonly record: Members;
  /** HubSpot's custom actions read the answer in a form of their own, and repeat a call under the same id. */
  readonly hubSpotCallbackId: string | undefined;
}

/** The members that are not fields of the record in a flat body. */
const fallbackIds = ['hs_object_id', 'vid', 'objectId', 'Id', 'id'] as const;
const longestCrmId = 255;
const longestModelId = 255;

/**
 * Understands the body of a webhook.
 * @param body the parsed body: JSON, or a form's members
 * @param query the query of the address, which may hold `model_id` and `explain`
 * @throws ApiError unreadableRequest for what has no known form; refusedRequest for events that hold no record
 */
export function readWebhook(body: unknown, query: Readonly<Record<string, unknown>>): WebhookRequest {
  const envelope = openEnvelope(onlyElement(body));
  return {
    modelId: modelIdOf(envelope, query),
    crmId: crmIdOf(envelope),
    explain: explainOf(envelope, query),
    record: envelope.record,
    hubSpotCallbackId: envelope.callbackId,
  };
}

/** The body itself, or the one element of an array, as some tools send. */
function onlyElement(body: unknown): Members {
  const value: unknown = Array.isArray(body) && body.length === 1 ? body[0] : body;
  if (Array.isArray(value)) {
    throw new ApiError(
      'unreadableRequest',
      `The body is an array of ${value.length}: a webhook scores one record; send batches to POST /v1/score.`,
    );
  }
  if (!isMembers(value))
    throw new ApiError('unreadableRequest', 'The body must be an object with the fields of one record.');
  if (isHubSpotEvent(value)) {
    throw new ApiError(
      'refusedRequest',
      'This is a HubSpot app event, which names a record but does not hold its fields. Use a workflow with "Send a ' +
        'webhook" (include the properties that the model knows) or a custom code action instead.',
    );
  }
  return value;
}

const isHubSpotEvent = (body: Members): boolean =>
  Object.hasOwn(body, 'subscriptionType') &&
  (Object.hasOwn(body, 'eventId') || Object.hasOwn(body, 'subscriptionId'));

function modelIdOf({ settings }: Envelope, query: Readonly<Record<string, unknown>>): string {
  const modelId = firstPresent(settings, 'model_id') ?? query.model_id;
  if (modelId === undefined) {
    throw new ApiError(
      'unreadableRequest',
      'model_id is missing: put it in the body, or in the address as ?model_id=mdl_...',
    );
  }
  if (typeof modelId === 'string' && modelId !== '' && modelId.length <= longestModelId) return modelId;
  throw new ApiError('unreadableRequest', `model_id must be a string of 1-${longestModelId} characters.`);
}

function explainOf({ settings }: Envelope, query: Readonly<Record<string, unknown>>): boolean {
  const explain = firstPresent(settings, 'explain') ?? query.explain;
  if (explain === undefined) return false;
  const text = typeof explain === 'string' ? explain.trim().toLowerCase() : explain;
  if (text === true || text === 'true' || text === '1' || text === 1) return true;
  if (text === false || text === 'false' || text === '0' || text === 0) return false;
  throw new ApiError('unreadableRequest', 'explain must be true, false, 1 or 0.');
}

/** A crm_id that was sent, at the top or in the record; else what the tool calls its id. Null and "" count as not sent. */
function crmIdOf(envelope: Envelope): string | null {
  for (const members of envelope.settings) {
    const sent = memberOf(members, 'crm_id');
    if (sent !== undefined && sent !== null && sent !== '') return checkedCrmId(sent);
  }
  const places = [...envelope.settings, envelope.record];
  for (const name of fallbackIds) {
    for (const members of places) {
      const id = idText(memberOf(members, name));
      if (id !== null) return id;
    }
    // object.objectId stands between objectId and Id.
    const id = name === 'objectId' ? idText(envelope.objectId) : null;
    if (id !== null) return id;
  }
  return null;
}

function checkedCrmId(sent: unknown): string {
  if (typeof sent !== 'string') throw new ApiError('unreadableRequest', 'crm_id must be a string.');
  if (isCrmId(sent)) return sent;
  throw new ApiError(
    'unreadableRequest',
    `crm_id must have at most ${longestCrmId} characters, without NUL or half of a surrogate pair.`,
  );
}

/** An id of another name as a crm_id; one that cannot be one counts as not sent. */
function idText(value: unknown): string | null {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  return typeof text === 'string' && text !== '' && isCrmId(text) ? text : null;
}

const isCrmId = (text: string): boolean =>
  [...text].length <= longestCrmId && !text.includes('\0') && text.isWellFormed();

/** The first of several objects that has a member, and its value. */
function firstPresent(places: readonly Members[], name: string): unknown {
  for (const members of places) {
    const value = memberOf(members, name);
    if (value !== undefined) return value;
  }
  return undefined;
}
