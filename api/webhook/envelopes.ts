import { ApiError } from '../../shared/contract/errors.js';
import { isCrmId, maxCrmId } from '../../shared/contract/texts.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A webhook's body, separated into record and settings. */
export interface Envelope {
  /** The objects that may hold settings, in order of precedence. */
  readonly settings: readonly JsonObject[];
  readonly record: JsonObject;
  /** HubSpot's `object.objectId`. */
  readonly objectId: unknown;
  /** HubSpot custom actions only; empty when such an action has none. */
  readonly callbackId: string | undefined;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member of an object; members of the prototype do not count. */
export const memberOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Members that are settings of a call, never fields of its record. */
export type SettingNames = ReadonlySet<string>;

export const settingNames: SettingNames = new Set(['model_id', 'crm_id', 'explain', 'input_report']);

/**
 * Detects the format of a body by its members and extracts the record. The formats are canonical (`record`), HubSpot
 * custom action (`inputFields`), HubSpot workflow (`properties`), Pipedrive (`meta` and `data`), else flat.
 * @param names settings of the endpoint
 * @throws ApiError unreadableRequest for an incomplete format and for a batch; refusedRequest for Pipedrive version 1
 */
export function openEnvelope(body: JsonObject, names: SettingNames = settingNames): Envelope {
  const record = memberOf(body, 'record');
  if (isJsonObject(record)) return plain([body, record], record, names);
  if (record === null || Array.isArray(record)) {
    throw new ApiError('unreadableRequest', 'record must be an object with the fields of one record.');
  }
  const inputFields = memberOf(body, 'inputFields');
  if (isJsonObject(inputFields)) return hubSpotAction(body, inputFields, names);
  const properties = memberOf(body, 'properties');
  if (isJsonObject(properties)) return hubSpotWorkflow(body, properties, names);
  if (isJsonObject(memberOf(body, 'meta'))) {
    if (Object.hasOwn(body, 'data')) return pipedrive(body, names);
    // Version 1 does not separate custom fields from standard ones, nor option ids from texts.
    if (Object.hasOwn(body, 'current') && Object.hasOwn(body, 'previous')) {
      throw new ApiError(
        'refusedRequest',
        'This is a Pipedrive webhook of version 1: create a new webhook with version v2.0.',
      );
    }
  }
  if (isBatch(body)) {
    throw new ApiError(
      'unreadableRequest',
      'records is for POST /v1/score: a webhook scores one record, in record or with its fields beside model_id.',
    );
  }
  return plain([body], unwrapValues(body), names);
}

/** Whether a body is one of `POST /v1/score`. Next to other fields, `records` is a field itself. */
function isBatch(body: JsonObject): boolean {
  const records = memberOf(body, 'records');
  return (
    Array.isArray(records) &&
    records.some(isJsonObject) &&
    Object.keys(body).every((name) => name === 'records' || settingNames.has(name))
  );
}

const plain = (settings: readonly JsonObject[], record: JsonObject, names: SettingNames): Envelope => ({
  settings,
  record: Object.fromEntries(Object.entries(record).filter(([name]) => !names.has(name))),
  objectId: objectIdOf(settings[0]),
  callbackId: undefined,
});

function hubSpotAction(body: JsonObject, inputFields: JsonObject, names: SettingNames): Envelope {
  const callbackId = memberOf(body, 'callbackId');
  if (
    callbackId !== undefined &&
    // MongoDB stores any lone surrogate as the same character, so two calls could share one stored reply.
    (typeof callbackId !== 'string' || !isCrmId(callbackId))
  ) {
    throw new ApiError(
      'unreadableRequest',
      `callbackId must be a string of at most ${maxCrmId} characters, without NUL or half of a surrogate pair.`,
    );
  }
  const record = Object.fromEntries([...objectProperties(body), ...Object.entries(inputFields)]);
  return { ...plain([body, inputFields], record, names), callbackId: callbackId ?? '' };
}

/** The properties of the enrolled object, which an action can request in addition to its inputs. */
function objectProperties(body: JsonObject): [string, unknown][] {
  const object = memberOf(body, 'object');
  const properties = isJsonObject(object) ? memberOf(object, 'properties') : undefined;
  return isJsonObject(properties) ? valuesOf(properties) : [];
}

function hubSpotWorkflow(body: JsonObject, properties: JsonObject, names: SettingNames): Envelope {
  const record = unwrapValues(properties);
  return plain([body, record], record, names);
}

/** Pipedrive's version 2 events, which hold custom fields in a nested object. */
function pipedrive(body: JsonObject, names: SettingNames): Envelope {
  const data = memberOf(body, 'data');
  if (!isJsonObject(data)) {
    throw new ApiError('unreadableRequest', 'data must hold the record; an event about a deleted record has none.');
  }
  const customFields = memberOf(data, 'custom_fields');
  const record = Object.fromEntries([
    ...Object.entries(data)
      .filter(([name, value]) => name !== 'custom_fields' || !isJsonObject(value))
      .map(pipedriveField),
    ...(isJsonObject(customFields) ? Object.entries(customFields).map(pipedriveField) : []),
  ]);
  return plain([body, record], record, names);
}

/** A field with its value unwrapped. An option without a label is represented by its id. */
function pipedriveField([name, value]: readonly [string, unknown]): [string, unknown] {
  if (!isJsonObject(value)) return [name, value];
  const several = memberOf(value, 'values');
  if (Array.isArray(several)) return [name, several.map((item) => pipedriveField([name, item])[1])];
  const inside = ['value', 'amount', 'label', 'id'].find((member) => Object.hasOwn(value, member));
  return [name, inside === undefined ? value : value[inside]];
}

/** HubSpot and Pipedrive wrap values: `{"annualrevenue": {"value": "1200", ...}}`. */
const unwrapValues = (object: JsonObject): JsonObject =>
  Object.values(object).some(isWrapped) ? Object.fromEntries(valuesOf(object)) : object;

const valuesOf = (object: JsonObject): [string, unknown][] =>
  Object.entries(object).map(([name, value]) => [name, isWrapped(value) ? value.value : value]);

const isWrapped = (value: unknown): value is JsonObject => isJsonObject(value) && Object.hasOwn(value, 'value');

function objectIdOf(body: JsonObject | undefined): unknown {
  const object = body === undefined ? undefined : memberOf(body, 'object');
  return isJsonObject(object) ? memberOf(object, 'objectId') : undefined;
}
