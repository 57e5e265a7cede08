import { beyondSafe, readCrmId } from '../../shared/contract/crm-id.js';
import { ApiError } from '../../shared/contract/errors.js';
import { isLongerThan, maxCrmId } from '../../shared/contract/texts.js';
import { EnvelopeMembers, renameAdvice } from '../call/notices.js';
import { type InputReport, idOfRecord, inputReports, type Notice } from '../call/scoring-call.js';
import { modelIdSchema } from '../schemas/scoring/score-request.js';
import {
  type Envelope,
  isJsonObject,
  type JsonObject,
  memberOf,
  openEnvelope,
  type SettingNames,
  settingNames,
} from './envelopes.js';

/** A webhook's request, independent of the tool. */
export interface WebhookRequest {
  readonly modelId: string;
  readonly crmId: string | null;
  /** See `CallRecord`. */
  readonly sentId?: string | undefined;
  /** See `CallRecord`. */
  readonly echo: string | undefined;
  readonly explain: boolean;
  readonly inputReport: InputReport | undefined;
  /** About settings that look misspelt. */
  readonly notices: readonly Notice[];
  readonly record: JsonObject;
  /** HubSpot custom actions only: they need `outputFields` in the reply, and retry a call under the same id. */
  readonly hubSpotCallbackId: string | undefined;
}

type InAddress = (name: 'model_id' | 'explain' | 'input_report') => string | undefined;

/** Names under which tools send the record's id, in order of precedence. */
const fallbackIds = ['hs_object_id', 'vid', 'objectId', 'Id', 'id'] as const;
/** Members of HubSpot's bodies. Their companies and deals have no `vid`. */
const hubSpotNames = ['properties', 'portalId', 'portal-id'] as const;
const n8nItemNames: ReadonlySet<string> = new Set(['json', 'pairedItem', 'binary']);
const maxWrappings = 3; // an item, the request in it, and one more for a node that wraps its item again
const { maxLength: maxModelIdLength } = modelIdSchema;
const knownSettings = new EnvelopeMembers(settingNames);

/**
 * Reads record and settings from the body and the query of a webhook.
 * @param body parsed JSON, or the members of a form
 * @param inAddress returns a query parameter: `model_id`, `explain` or `input_report`
 * @param namesInAddress of all query parameters
 * @throws ApiError unreadableRequest for an unknown format; refusedRequest for events without a record
 */
export function readWebhook(body: unknown, inAddress: InAddress, namesInAddress: readonly string[]): WebhookRequest {
  const envelope = readEnvelope(body, settingNames);
  const { settings } = envelope;
  // Names of the address come first: a flat record may have more members than are compared.
  const names = [...new Set([...namesInAddress, ...settings.flatMap((members) => Object.keys(members))])];
  const modelId = modelIdOf(envelope, inAddress, names);
  const ids = crmIdOf(envelope);
  const isSent = (name: string): boolean => {
    if (name === 'crm_id') return ids.crmId !== null || ids.echo !== undefined;
    return name === 'model_id' || settingOf(name as 'explain' | 'input_report', envelope, inAddress) !== undefined;
  };
  return {
    modelId,
    ...ids,
    explain: explainOf(envelope, inAddress),
    inputReport: inputReportOf(envelope, inAddress),
    notices: knownSettings.notices(names, isSent),
    record: envelope.record,
    hubSpotCallbackId: envelope.callbackId,
  };
}

/**
 * Opens the body of a webhook, without the wrappers of its tool.
 * @throws as `readWebhook`
 */
export const readEnvelope = (body: unknown, names: SettingNames): Envelope =>
  openEnvelope(withoutWrappers(onlyElement(body), names), names);

/** Returns the body, or the only element of an array, which some tools send. */
function onlyElement(body: unknown): JsonObject {
  const elements: readonly unknown[] = Array.isArray(body) ? body : [body];
  refuseHubSpotEvents(elements);
  const value = elements.length === 1 ? elements[0] : body;
  if (Array.isArray(value)) {
    const found = value === body ? `an array of ${value.length}` : 'an array within an array';
    throw new ApiError(
      'unreadableRequest',
      `The body is ${found}: a webhook scores one record, an object or an array of one object; send ` +
        'batches to POST /v1/score.',
    );
  }
  if (!isJsonObject(value))
    throw new ApiError('unreadableRequest', 'The body must be an object with the fields of one record.');
  return value;
}

/** @throws ApiError refusedRequest when an element is an event without a record */
function refuseHubSpotEvents(elements: readonly unknown[]): void {
  if (!elements.some(isHubSpotEvent)) return;
  throw new ApiError(
    'refusedRequest',
    'This is a HubSpot app event, which names a record but does not hold its fields. Use a workflow with ' +
      '"Send a webhook" (include the properties that the model knows) or a custom action instead.',
  );
}

/**
 * Removes n8n's wrappers around a record. An item has `json` (and `pairedItem`, `binary`). The output of its Webhook
 * node has `headers`, `params`, `query` and `body`. Settings next to a wrapper apply, outermost first, except empty
 * ids.
 */
function withoutWrappers(body: JsonObject, names: SettingNames): JsonObject {
  const settings = new Map<string, unknown>();
  let record = body;
  for (let depth = 0; depth < maxWrappings; depth += 1) {
    const inner = wrappedIn(record, names);
    if (inner === undefined) break;
    for (const name of names) if (!settings.has(name) && isSetting(record, name)) settings.set(name, record[name]);
    record = inner;
  }
  return settings.size === 0 ? record : Object.fromEntries([...Object.entries(record), ...settings]);
}

/** Whether an object has this setting. A null or empty id counts as absent, and so does what is no crm_id. */
const isSetting = (object: JsonObject, name: string): boolean =>
  Object.hasOwn(object, name) &&
  (!name.endsWith('_id') || !isAbsent(object[name])) &&
  (name !== 'crm_id' || typeof object[name] !== 'string' || checkedCrmId(object[name]) !== null);

/** The body inside an n8n item or inside the output of n8n's Webhook node; undefined without such a wrapper. */
function wrappedIn(body: JsonObject, names: SettingNames): JsonObject | undefined {
  const json = memberOf(body, 'json');
  const isItem = isJsonObject(json) && Object.keys(body).every((name) => n8nItemNames.has(name) || names.has(name));
  const inner = isItem ? json : isJsonObject(memberOf(body, 'headers')) ? memberOf(body, 'body') : undefined;
  const elements: readonly unknown[] = Array.isArray(inner) ? inner : [inner];
  refuseHubSpotEvents(elements);
  // The body of a Webhook node can be an array of one, too.
  const [element] = elements;
  return elements.length === 1 && isJsonObject(element) ? element : undefined;
}

/** Checks `portalId` too: a lead may have fields called `subscriptionType` and `subscriptionId`. */
const isHubSpotEvent = (body: unknown): boolean =>
  isJsonObject(body) &&
  Object.hasOwn(body, 'subscriptionType') &&
  Object.hasOwn(body, 'portalId') &&
  (Object.hasOwn(body, 'eventId') || Object.hasOwn(body, 'subscriptionId'));

function modelIdOf({ settings }: Envelope, inAddress: InAddress, names: readonly string[]): string {
  const sent = settings.map((members) => memberOf(members, 'model_id')).find((value) => !isAbsent(value));
  const modelId = sent ?? inAddress('model_id');
  if (isAbsent(modelId)) {
    const rename = renameAdvice('model_id', names);
    throw new ApiError(
      'unreadableRequest',
      `model_id is missing: ${rename && `${rename}, or `}put it in the body, or in the address as ?model_id=mdl_...`,
    );
  }
  if (typeof modelId === 'string' && !isLongerThan(modelId, maxModelIdLength)) return modelId;
  throw new ApiError('unreadableRequest', `model_id must be a string of 1-${maxModelIdLength} characters.`);
}

/** A setting other than an id: null and an empty text do not count as absent. */
function settingOf(name: 'explain' | 'input_report', { settings }: Envelope, inAddress: InAddress): unknown {
  const sent = settings.map((members) => memberOf(members, name)).find((value) => value !== undefined);
  return sent === undefined ? inAddress(name) : sent;
}

function explainOf(envelope: Envelope, inAddress: InAddress): boolean {
  const explain = settingOf('explain', envelope, inAddress);
  if (explain === undefined) return false;
  const text = typeof explain === 'string' ? explain.trim().toLowerCase() : explain;
  if (text === true || text === 'true' || text === '1' || text === 1) return true;
  if (text === false || text === 'false' || text === '0' || text === 0) return false;
  throw new ApiError('unreadableRequest', 'explain must be true, false, 1 or 0.');
}

function inputReportOf(envelope: Envelope, inAddress: InAddress): InputReport | undefined {
  const sent = settingOf('input_report', envelope, inAddress);
  if (sent === undefined) return undefined;
  const inputReport = inputReports.find((each) => each === sent);
  if (inputReport !== undefined) return inputReport;
  throw new ApiError('unreadableRequest', 'input_report must be "summary" or "records".');
}

/**
 * The sent crm_id, at the top level or in the record, else the tool's own id. A text that is no id counts as absent.
 */
export function crmIdOf(envelope: Envelope): Pick<WebhookRequest, 'crmId' | 'sentId' | 'echo'> {
  let echo: string | undefined;
  for (const members of envelope.settings) {
    const sent = memberOf(members, 'crm_id');
    if (isAbsent(sent)) continue;
    const id = checkedCrmId(sent);
    if (id !== null) return { ...idOfRecord(id), echo: undefined };
    echo ??= sent as string;
  }
  const id = fallbackId(envelope);
  return id === null ? { crmId: null, echo } : { ...idOfRecord(id), echo: undefined };
}

function fallbackId(envelope: Envelope): string | null {
  const objects = [...envelope.settings, envelope.record];
  for (const name of fallbackIds) {
    for (const members of objects) {
      const id = idText(memberOf(members, name));
      if (id !== null) return id;
    }
    // The precedence of object.objectId is between objectId and Id.
    const id = name === 'objectId' ? idText(envelope.objectId) : null;
    if (id !== null) return id;
  }
  const [body = {}] = envelope.settings;
  // In other tools a lead may have the id of its company or deal as a field, and many leads share it.
  if (!hubSpotNames.some((name) => Object.hasOwn(body, name))) return null;
  return idText(memberOf(body, 'dealId')) ?? idText(memberOf(body, 'companyId'));
}

/** @returns null for a placeholder, and for a number that lost its digits */
function checkedCrmId(sent: unknown): string | null {
  if (Number.isSafeInteger(sent)) return String(sent);
  if (Number.isInteger(sent)) throw new ApiError('unreadableRequest', `crm_id ${beyondSafe}.`);
  if (typeof sent !== 'string') throw new ApiError('unreadableRequest', 'crm_id must be a text or a whole number.');
  const read = readCrmId(sent);
  if ('id' in read) return read.id;
  if (read.problem !== 'too_long' && read.problem !== 'characters') return null;
  throw new ApiError(
    'unreadableRequest',
    `crm_id must have at most ${maxCrmId} characters, without NUL or half of a surrogate pair.`,
  );
}

/**
 * Converts a tool's id to a crm_id. An invalid id counts as absent. So does an unsafe integer: parsing has rounded it,
 * and it could equal another lead's id.
 */
function idText(value: unknown): string | null {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  const read = typeof text === 'string' ? readCrmId(text) : undefined;
  return read !== undefined && 'id' in read ? read.id : null;
}

/** Tools send null or an empty text for fields without a value. */
export const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';
