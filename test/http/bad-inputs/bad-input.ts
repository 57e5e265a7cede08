import { expect } from 'chai';
import { bestMs, durationMs } from '../../support/beats.js';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { type RawCall, rawCall } from '../../support/http/raw-connection.js';
import { refused } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type BadInputRig, books, sharedRig } from './rig.js';

/** An input with the expected error. */
export interface BadInput {
  /** Completes the title "returns 422 bad_request for ...". */
  readonly name: string;
  readonly call: (rig: BadInputRig) => RawCall;
  /** Status and code. */
  readonly as: `${number} ${string}`;
  /** Matches the error message. */
  readonly says: RegExp;
}

export type BadInputRow = readonly [name: string, call: BadInput['call'], says: RegExp];

/** Rows of a table with one status and code. */
export const rowsAs = (as: BadInput['as'], rows: readonly BadInputRow[]): readonly BadInput[] =>
  rows.map(([name, call, says]) => ({ name, call, as, says }));

export const lead = { company_size: 120, lead_source: 'Webinar' };

/** A valid body, for tests that spoil one member. */
export const goodBody = ({ own }: BadInputRig): Record<string, unknown> => ({
  model_id: own.model._id,
  records: [lead],
});

/** `POST /v1/score` with the live key. A string or a buffer is sent as it is, anything else as JSON. */
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

/** The same call to `POST /v1/webhooks/score`. */
export const webhookCall = (...of: Parameters<typeof scoreCall>): RawCall => ({
  ...scoreCall(...of),
  path: '/v1/webhooks/score',
});

/** A call without a body, with the live key. */
export const readingCall =
  (path: string, method = 'GET'): BadInput['call'] =>
  ({ secret }) => ({ method, path, headers: { Authorization: `Bearer ${secret}` } });

const answerWithinMs = 5_000;
const scoringPath = /^\/v1(?=\/(webhooks\/)?score(\?|$))/;

/** Declares a test for each row. A call to a scoring endpoint is also sent to its deprecated alias. */
export function describeBadInputs(title: string, rows: readonly BadInput[]): void {
  describe(title, () => {
    let service: RunningService;
    let rig: BadInputRig;
    let counted: unknown;

    before(async function () {
      this.timeout(startTimeoutMs);
      service = await runningService();
      rig = await sharedRig(service);
      counted = await books(rig);
    });

    for (const row of rows) {
      it(`returns ${row.as} for ${row.name}`, async () => {
        const call = row.call(rig);
        await expectClearAnswer(row, () => rawCall(service.url(), call));
        if (!scoringPath.test(call.path)) return;
        const path = call.path.replace(scoringPath, '');
        const reply = await expectClearAnswer(row, () => rawCall(service.url(), { ...call, path }));
        if (!row.as.startsWith('405')) expect(reply.headers.get('deprecation')).to.equal('true');
      });
    }

    // Once per table is enough: a call that was counted by mistake stays counted.
    it(`counts no call that is refused as ${title}`, () =>
      eventually(async () => {
        expect(await books(rig)).to.deep.equal(counted);
      }));
  });
}

async function expectClearAnswer(row: BadInput, send: () => Promise<HttpReply>): Promise<HttpReply> {
  const replies: HttpReply[] = [];
  const sendOnce = async () => replies.push(await send());
  expect(await bestMs(answerWithinMs, () => durationMs(sendOnce)), 'ms until the reply').to.be.below(answerWithinMs);
  const reply = replies.at(-1) ?? expect.fail('no reply');
  const { message } = refused(reply, row.as).error;
  expect(message).to.match(row.says);
  expect(message.length, 'length of the message').to.be.below(700);
  expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  expect(reply.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
  return reply;
}
