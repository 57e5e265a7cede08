import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { FakeService, type GivenAnswer } from '../../../support/http/fake-service.js';

/** A received call. */
export interface ArrivedCall {
  /** From 0, in order of arrival. */
  readonly number: number;
  readonly idempotencyKey: string;
  readonly authorization: string;
  readonly modelId: string;
  readonly explain: boolean;
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

/** Returns the answer to a call. Undefined answers with scores; 'hang up' closes the connection. */
export type Answering = (
  call: ArrivedCall,
) => GivenAnswer | 'hang up' | undefined | Promise<GivenAnswer | 'hang up' | undefined>;

/** Score of the record with number `n`. It depends on `n`, so that a wrong order is detected. */
export const fakeScore = (n: number): number => n % 101;

/** A fake gateway with configurable answers. Like the gateway, it counts each idempotency key once and replays it. */
export class FakeScoreService extends FakeService {
  readonly calls: ArrivedCall[] = [];
  /** Records counted. */
  used = 0;
  answering: Answering = () => undefined;
  /** Why a record cannot be scored, as the service writes it after its path. */
  problemOf: (record: ArrivedCall['records'][number]) => string | undefined = () => undefined;
  /** Body of `GET /v1/models/{id}`; undefined answers with 404. */
  model: unknown;
  /** Awaited before a GET is answered. */
  reading: () => Promise<void> = async () => undefined;
  /** Paths of the received GET requests. */
  readonly read: string[] = [];
  private readonly replies = new Map<string, string>();

  /** Calls with the row whose column `n` has this number. */
  callsWith(n: number): ArrivedCall[] {
    return this.calls.filter((call) => call.records.some((record) => record.n === String(n)));
  }

  /** Resolves when a call with this row has arrived. */
  async arrival(n: number): Promise<void> {
    while (this.callsWith(n).length === 0) await once(this.arrivals, 'call');
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') {
      this.read.push(`${request.url}`);
      await this.reading();
      if (this.model === undefined) refuse(response, { status: 404, code: 'not_found' });
      else response.end(JSON.stringify(this.model));
      return;
    }
    const body: { model_id: string; explain?: boolean; records: Record<string, unknown>[] } = JSON.parse(
      await text(request),
    );
    const call: ArrivedCall = {
      number: this.calls.length,
      idempotencyKey: String(request.headers['idempotency-key']),
      authorization: String(request.headers.authorization),
      modelId: body.model_id,
      explain: body.explain === true,
      records: body.records,
    };
    this.calls.push(call);
    this.arrivals.emit('call');
    const answer = await this.answering(call);
    if (answer === 'hang up') response.destroy();
    else if (answer !== undefined) refuse(response, answer);
    else this.answer(call, response);
  }

  private answer(call: ArrivedCall, response: ServerResponse): void {
    const refusal = this.replies.has(call.idempotencyKey) ? undefined : this.refusal(call);
    if (refusal !== undefined) refuse(response, refusal);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(this.scored(call));
  }

  /** Like the service, names five problems at most. */
  private refusal({ records }: ArrivedCall): GivenAnswer | undefined {
    const problems = records.flatMap((record, index) => {
      const problem = this.problemOf(record);
      return problem === undefined ? [] : [`records[${index}]${problem}`];
    });
    if (problems.length === 0) return undefined;
    const more = problems.length > 5 ? `; and ${problems.length - 5} more` : '';
    const message = `${problems.slice(0, 5).join('; ')}${more}. Nothing of the call was counted.`;
    return { status: 400, code: 'bad_request', message };
  }

  private scored(call: ArrivedCall): string {
    const known = this.replies.get(call.idempotencyKey);
    if (known !== undefined) return known;
    this.used += call.records.length;
    const reply = JSON.stringify({
      model_id: call.modelId,
      scores: call.records.map(scoredRow(call.explain)),
      usage: {
        current: this.used,
        limit: 10_000,
        remaining: 10_000 - this.used,
        in_grace: false,
        backstop: 20_000,
      },
      validation: { state: 'passed', failing_gate: null, summary: 'Passed: every gate was cleared.' },
    });
    this.replies.set(call.idempotencyKey, reply);
    return reply;
  }
}

const scoredRow =
  (explain: boolean) =>
  (record: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
    score: fakeScore(Number(record.n ?? 0)),
    conversion_likelihood: 0.25,
    enriched: record.crm_id !== undefined,
    ...(record.crm_id === undefined ? {} : { crm_id: record.crm_id, previous_score: 0, delta: 1 }),
    ...(explain
      ? {
          drivers: [],
          top_reason_1: 'Size is 5, or "so" (raises the score)',
          top_reason_2: null,
          top_reason_3: null,
        }
      : {}),
  });

function refuse(response: ServerResponse, { status, code, message = `it is ${code}`, headers }: GivenAnswer): void {
  const error = { code, message, docs_url: `https://docs.example/errors#${code}` };
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ error }));
}
