import type { Model } from '../../../shared/store/models/models.js';
import type { RawCall } from '../../support/http/raw-connection.js';
import type { TestWorkspace } from '../../support/service/workspace.js';

/** What the rows of the tables work with: one organisation, and what it may not use. */
export interface BadInputRig {
  readonly own: TestWorkspace;
  /** Its secret, live. */
  readonly secret: string;
  /** The secret of a key that was revoked. */
  readonly revokedSecret: string;
  /** Model whose `company_size` is required. */
  readonly strictModel: Model;
  readonly deletedModel: Model;
  readonly foreignModel: Model;
  /** Its quota is used up. */
  readonly exhausted: TestWorkspace;
  /** One record is left before its backstop, and one before the cap of its test key. */
  readonly nearlyExhausted: TestWorkspace;
  readonly onFree: TestWorkspace;
  /** Under policy block, with a timing model. */
  readonly blocked: TestWorkspace;
}

/** An input, and the clear answer that it gets. */
export interface BadInput {
  readonly name: string;
  readonly call: (rig: BadInputRig) => RawCall;
  /** Status and code. */
  readonly as: `${number} ${string}`;
  /** What the message must tell. */
  readonly says: RegExp;
}

export const lead = { company_size: 120, lead_source: 'Webinar' };

/** Fields of a call that would be scored, for one member to be spoilt. */
export const goodBody = ({ own }: BadInputRig): Record<string, unknown> => ({
  model_id: own.model._id,
  records: [lead],
});

/** `POST /v1/score` with the live key. A text or bytes are sent as they are, anything else as JSON. */
export function scoreCall(
  { secret }: Pick<BadInputRig, 'secret'>,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): RawCall {
  return {
    path: '/v1/score',
    headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  };
}

/** The same call to the webhook. */
export const webhookCall = (...of: Parameters<typeof scoreCall>): RawCall => ({
  ...scoreCall(...of),
  path: '/v1/webhooks/score',
});

/** A call without a body, with the live key. */
export const readingCall = (
  { secret }: Pick<BadInputRig, 'secret'>,
  path: string,
  method = 'GET',
): RawCall => ({
  method,
  path,
  headers: { Authorization: `Bearer ${secret}` },
});
