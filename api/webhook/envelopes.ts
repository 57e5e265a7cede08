import { isCrmId, longestCrmId } from '../../shared/crm-id.js';
import { ApiError } from '../../shared/errors.js';
import { fromEntries, isMembers, type Members, memberOf, someMember, without } from './members.js';

/** A webhook's body, taken apart. */
export interface Envelope {
  /** Where `model_id`, `crm_id` and `explain` may stand, first place first. */
  readonly settings: readonly Members[];
  /** The record's fields. */
  readonly record: Members;
  /** HubSpot's `object.objectId`. */
  readonly objectId: unknown;
  /** Of a HubSpot custom action. */
  readonly callbackId: string | undefined;
}

/** Members that say how to score; they are never fields of the record. */
export const settingNames: ReadonlySet<string> = new Set(['model_id', 'crm_id', 'explain']);

/**
 * Takes a body apart by its form: canonical (`record`), HubSpot custom action (`inputFields`), HubSpot workflow
 * (`properties`), Pipedrive (`meta` and `data`), else flat.
 * @throws ApiError unreadableRequest when a form is begun and not kept, or it is that of a batch; refusedRequest for
 * Pipedrive's version 1
 */
export function openEnvelope(body: Members): Envelope {
  const record = memberOf(body, 'record');
  if (isMembers(record)) return plain([body, record], record);
  if (record === null || Array.isArray(record)) {
    throw new ApiError('unreadableRequest', 'record must be an object with the fields of one record.');
  }
  const inputFields = memberOf(body, 'inputFields');
  if (isMembers(inputFields)) return hubSpotAction(body, inputFields);
  const properties = memberOf(body, 'properties');
  if (isMembers(properties)) return hubSpotWorkflow(body, properties);
  if (isMembers(memberOf(body, 'meta'))) {
    if (Object.hasOwn(body, 'data')) return pipedrive(body);
    // Its custom fields cannot be told from other ones, nor the ids of options from texts.
    if (Object.hasOwn(body, 'current') && Object.hasOwn(body, 'previous')) {
      throw new ApiError(
        'refusedRequest',
        'This is a Pipedrive webhook of version 1: create it anew with webhook version v2.0.',
      );
    }
  }
  if (isBatch(body)) {
    throw new ApiError(
      'unreadableRequest',
      'records is for POST /v1/score: a webhook scores one record, in record or with its fields beside model_id.',
    );
  }
  return plain([body], unwrapValues(body));
}

/** The body of `POST /v1/score`, which would be a record without a field; beside fields, `records` is one of them. */
function isBatch(body: Members): boolean {
  const records = memberOf(body, 'records');
  return (
    Array.isArray(records) &&
    records.some(isMembers) &&
    !someMember(body, (_, name) => name !== 'records' && !settingNames.has(name))
  );
}

const plain = (settings: readonly Members[], record: Members): Envelope => ({
  settings,
  record: without(record, settingNames),
  objectId: objectIdOf(settings[0]),
  callbackId: undefined,
});

function hubSpotAction(body: Members, inputFields: Members): Envelope {
  const callbackId = memberOf(body, 'callbackId');
  if (
    callbackId !== undefined &&
    // Stored, one half of a surrogate pair is the same as another: a call would be answered with another's score.
    (typeof callbackId !== 'string' || !isCrmId(callbackId))
  ) {
    throw new ApiError(
      'unreadableRequest',
      `callbackId must be a string of at most ${longestCrmId} characters, without NUL or half of a surrogate pair.`,
    );
  }
  const record = fromEntries([...objectProperties(body), ...Object.entries(inputFields)]);
  return { ...plain([body, inputFields], record), callbackId: callbackId ?? '' };
}

/** The properties of the enrolled object, which an action may ask for beside its inputs. */
function objectProperties(body: Members): [string, unknown][] {
  const object = memberOf(body, 'object');
  const properties = isMembers(object) ? memberOf(object, 'properties') : undefined;
  return isMembers(properties) ? valuesOf(properties) : [];
}

function hubSpotWorkflow(body: Members, properties: Members): Envelope {
  const record = unwrapValues(properties);
  return plain([body, record], record);
}

/** Pipedrive's version 2 events; its custom fields are wrapped in an object of their own. */
function pipedrive(body: Members): Envelope {
  const data = memberOf(body, 'data');
  if (!isMembers(data)) {
    throw new ApiError(
      'unreadableRequest',
      'data must hold the record; an event about a deleted record has none.',
    );
  }
  const customFields = memberOf(data, 'custom_fields');
  const record = fromEntries([
    ...Object.entries(data).map(pipedriveField),
    ...(isMembers(customFields) ? Object.entries(customFields).map(pipedriveField) : []),
  ]);
  return plain([body, record], record);
}

/** A field with its value taken out of what Pipedrive puts around it; an option without a label is known by its id. */
function pipedriveField([name, value]: readonly [string, unknown]): [string, unknown] {
  if (!isMembers(value)) return [name, value];
  const several = memberOf(value, 'values');
  if (Array.isArray(several)) return [name, several.map((item) => pipedriveField([name, item])[1])];
  const inside = ['value', 'amount', 'label', 'id'].find((member) => Object.hasOwn(value, member));
  return [name, inside === undefined ? value : value[inside]];
}

/** HubSpot and Pipedrive wrap values: `{"annualrevenue": {"value": "1200", ...}}`. */
const unwrapValues = (members: Members): Members =>
  someMember(members, isWrapped) ? fromEntries(valuesOf(members)) : members;

const valuesOf = (members: Members): [string, unknown][] =>
  Object.entries(members).map(([name, value]) => [name, isWrapped(value) ? value.value : value]);

const isWrapped = (value: unknown): value is Members => isMembers(value) && Object.hasOwn(value, 'value');

function objectIdOf(body: Members | undefined): unknown {
  const object = body === undefined ? undefined : memberOf(body, 'object');
  return isMembers(object) ? memberOf(object, 'objectId') : undefined;
}
