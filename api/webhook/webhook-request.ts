import { isCrmId, longestCrmId } from '../../shared/crm-id.js';
import { ApiError } from '../../shared/errors.js';
import { isLongerThan } from '../../shared/text-length.js';
import { modelIdSchema } from '../schemas/score-request.js';
import { type Envelope, openEnvelope, settingNames } from './envelopes.js';
import { fromEntries, isMembers, type Members, memberOf, someMember } from './members.js';

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
const n8nItemNames: ReadonlySet<string> = new Set(['json', 'pairedItem', 'binary']);
/** An item that holds what was received; one more for a node that wraps its item again. */
const mostWrappings = 3;
const { maxLength: longestModelId } = modelIdSchema;

/**
 * Understands the body of a webhook.
 * @param body the parsed body: JSON, or a form's members
 * @param query the query of the address, which may hold `model_id` and `explain`
 * @throws ApiError unreadableRequest for what has no known form; refusedRequest for events that hold no record
 */
export function readWebhook(body: unknown, query: Readonly<Record<string, unknown>>): WebhookRequest {
  const envelope = openEnvelope(withoutWrapping(onlyElement(body)));
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
  const elements: readonly unknown[] = Array.isArray(body) ? body : [body];
  refuseHubSpotEvents(elements);
  const value = elements.length === 1 ? elements[0] : body;
  if (Array.isArray(value)) {
    const what = value === body ? `an array of ${value.length}` : 'an array within an array';
    throw new ApiError(
      'unreadableRequest',
      `The body is ${what}: a webhook scores one record, an object or an array of one object; send batches to POST /v1/score.`,
    );
  }
  if (!isMembers(value))
    throw new ApiError('unreadableRequest', 'The body must be an object with the fields of one record.');
  return value;
}

/** @throws ApiError refusedRequest where one of the elements is an event that holds no record */
function refuseHubSpotEvents(elements: readonly unknown[]): void {
  if (!elements.some(isHubSpotEvent)) return;
  throw new ApiError(
    'refusedRequest',
    'This is a HubSpot app event, which names a record but does not hold its fields. Use a workflow with "Send a ' +
      'webhook" (include the properties that the model knows) or a custom action instead.',
  );
}

/**
 * Takes off what n8n puts around a record when an item is sent on as it is: `json` (and `pairedItem`, `binary`), or
 * `headers`, `params`, `query` and `body` of what its Webhook node received. The settings beside it still count, the
 * outermost first, unless it is an id that counts as not sent. Copies once at most: a body may have a hundred thousand members.
 */
function withoutWrapping(body: Members): Members {
  const settings = new Map<string, unknown>();
  let record = body;
  for (let wrappings = 0; wrappings < mostWrappings; wrappings += 1) {
    const inner = wrappedIn(record);
    if (inner === undefined) break;
    for (const name of settingNames)
      if (!settings.has(name) && isSetting(record, name)) settings.set(name, record[name]);
    record = inner;
  }
  return settings.size === 0 ? record : fromEntries([...Object.entries(record), ...settings]);
}

/** Whether a member says how to score; beside a wrapping too, null and an empty text say nothing where an id is meant. */
const isSetting = (members: Members, name: string): boolean =>
  Object.hasOwn(members, name) && (name === 'explain' || !isNotSent(members[name]));

/** What is inside an n8n item, or inside what its Webhook node received; undefined where there is no such wrapping. */
function wrappedIn(body: Members): Members | undefined {
  const json = memberOf(body, 'json');
  const isItem =
    isMembers(json) && !someMember(body, (_, name) => !n8nItemNames.has(name) && !settingNames.has(name));
  const inner = isItem ? json : isMembers(memberOf(body, 'headers')) ? memberOf(body, 'body') : undefined;
  const elements: readonly unknown[] = Array.isArray(inner) ? inner : [inner];
  refuseHubSpotEvents(elements);
  // The node receives a list of one as a list, too.
  const [element] = elements;
  return elements.length === 1 && isMembers(element) ? element : undefined;
}

/** By its portal too: the other members may be fields of a lead who has subscribed to something. */
const isHubSpotEvent = (body: unknown): boolean =>
  isMembers(body) &&
  Object.hasOwn(body, 'subscriptionType') &&
  Object.hasOwn(body, 'portalId') &&
  (Object.hasOwn(body, 'eventId') || Object.hasOwn(body, 'subscriptionId'));

function modelIdOf({ settings }: Envelope, query: Readonly<Record<string, unknown>>): string {
  const sent = settings.map((members) => memberOf(members, 'model_id')).find((value) => !isNotSent(value));
  const modelId = sent ?? onceIn(query, 'model_id');
  if (isNotSent(modelId)) {
    throw new ApiError(
      'unreadableRequest',
      'model_id is missing: put it in the body, or in the address as ?model_id=mdl_...',
    );
  }
  if (typeof modelId === 'string' && !isLongerThan(modelId, longestModelId)) return modelId;
  throw new ApiError('unreadableRequest', `model_id must be a string of 1-${longestModelId} characters.`);
}

/** A setting in the address. */
function onceIn(query: Readonly<Record<string, unknown>>, name: string): unknown {
  const value = memberOf(query, name);
  if (!Array.isArray(value)) return value;
  throw new ApiError('unreadableRequest', `${name} must come once in the address.`);
}

function explainOf({ settings }: Envelope, query: Readonly<Record<string, unknown>>): boolean {
  const sent = settings.map((members) => memberOf(members, 'explain')).find((value) => value !== undefined);
  const explain = sent === undefined ? onceIn(query, 'explain') : sent;
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
    if (!isNotSent(sent)) return checkedCrmId(sent);
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
  if (typeof sent === 'number') {
    throw new ApiError('unreadableRequest', 'crm_id must be a string; send an id that is a number as id.');
  }
  if (typeof sent !== 'string') throw new ApiError('unreadableRequest', 'crm_id must be a string.');
  if (isCrmId(sent)) return sent;
  throw new ApiError(
    'unreadableRequest',
    `crm_id must have at most ${longestCrmId} characters, without NUL or half of a surrogate pair.`,
  );
}

/**
 * An id of another name as a crm_id; one that cannot be one counts as not sent, and so does a number that JSON has
 * rounded: it could be another lead's.
 */
function idText(value: unknown): string | null {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === 'string' && text !== '' && isCrmId(text) ? text : null;
}

/** Tools send fields that they have no value for as null or as empty. */
const isNotSent = (value: unknown): boolean => value === undefined || value === null || value === '';
