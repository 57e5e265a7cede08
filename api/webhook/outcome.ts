import { ApiError } from '../../shared/contract/errors.js';
import { renameAdvice } from '../call/notices.js';
import { maxOutcome } from '../schemas/webhook-outcome.js';
import { type Envelope, type JsonObject, memberOf, settingNames } from './envelopes.js';
import { crmIdOf, isAbsent, readEnvelope } from './request.js';

/** A report on one lead, independent of the tool. */
export interface OutcomeWebhook {
  /** As it is stored. */
  readonly crmId: string;
  /** As it was sent. */
  readonly sentId: string;
  /** The value of the CRM; empty for a field without a value. */
  readonly outcome: string;
  /** The date as it was sent, in a form that `outcomeDate` reads or refuses. */
  readonly at: string | undefined;
  /** Whether the reply needs the `outputFields` of a custom action of HubSpot. */
  readonly isHubSpotAction: boolean;
}

/** The settings of scores are no fields either: tools send one body to both addresses. */
const outcomeSettings: ReadonlySet<string> = new Set([...settingNames, 'outcome', 'at']);

type InAddress = (name: 'outcome_field' | 'at_field') => string | undefined;

/**
 * Reads the report in the body of a webhook.
 * @param body parsed JSON, or the members of a form
 * @param inAddress the fields of the record that hold outcome and date, if the tool cannot send `outcome` and `at`
 * @throws ApiError unreadableRequest without a crm_id or an outcome, and as `readWebhook`
 */
export function readOutcomeWebhook(body: unknown, inAddress: InAddress): OutcomeWebhook {
  const envelope = readEnvelope(body, outcomeSettings);
  const { crmId, sentId, echo } = crmIdOf(envelope);
  if (crmId === null) {
    const found = echo === undefined ? 'crm_id is missing' : `crm_id is "${echo}", which stands for a missing value`;
    throw new ApiError('unreadableRequest', `${found}: send the id under which the lead was scored.`);
  }
  const at = sentValue(envelope, 'at', inAddress('at_field'));
  return {
    crmId,
    sentId: sentId ?? crmId,
    outcome: shortText(textOf('outcome', outcomeOf(envelope, inAddress('outcome_field'))) ?? ''),
    at: dateText(textOf('at', at)),
    isHubSpotAction: envelope.callbackId !== undefined,
  };
}

function outcomeOf(envelope: Envelope, field: string | undefined): unknown {
  const sent = sentValue(envelope, 'outcome', field);
  if (sent !== undefined) return sent;
  if (field !== undefined)
    throw new ApiError(
      'unreadableRequest',
      `The record has no field "${field}", which the address names as its outcome.`,
    );
  const rename = renameAdvice('outcome', Object.keys(envelope.record));
  throw new ApiError(
    'unreadableRequest',
    `outcome is missing: ${rename && `${rename}, or `}send won, lost or a stage of your CRM as outcome, or name the ` +
      'field that holds it in the address as ?outcome_field=...',
  );
}

/** A setting, or a field of the record; undefined without both. */
function sentValue({ settings, record }: Envelope, name: 'outcome' | 'at', field: string | undefined): unknown {
  const values = settings.map((members) => unwrapped(members, name));
  const sent = values.find((value) => !isAbsent(value)) ?? values.find((value) => value !== undefined);
  return sent === undefined && field !== undefined ? memberOf(record, field) : sent;
}

/** HubSpot and Pipedrive wrap values: `{"value": "won"}`. */
function unwrapped(members: JsonObject, name: string): unknown {
  const value = memberOf(members, name);
  const isWrapped = typeof value === 'object' && value !== null && Object.hasOwn(value, 'value');
  return isWrapped ? (value as JsonObject).value : value;
}

function textOf(name: 'outcome' | 'at', value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value.trim();
  if (typeof value === 'number' || (typeof value === 'boolean' && name === 'outcome')) return String(value);
  const kinds = name === 'outcome' ? 'a text, a boolean or a number' : 'a text or a number';
  throw new ApiError('unreadableRequest', `${name} must be ${kinds}.`);
}

function shortText(outcome: string): string {
  if (outcome.length <= maxOutcome) return outcome;
  throw new ApiError('unreadableRequest', `outcome must have at most ${maxOutcome} characters.`);
}

/** HubSpot sends dates as milliseconds since 1970. */
const milliseconds = /^\d{12,14}$/;

const dateText = (text: string | undefined): string | undefined =>
  text !== undefined && milliseconds.test(text) ? new Date(Number(text)).toISOString() : text;
