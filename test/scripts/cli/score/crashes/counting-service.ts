import type { HttpConnections, HttpReply } from '../../../../../scripts/cli/score/calls/http-connections.js';
import type { KillSwitch } from './kill-switch.js';

/** A row as it arrives. `v` decides about its score; one that begins with `bad` cannot be scored. */
interface SentRow {
  readonly crm_id?: string;
  readonly v?: string;
}

const problemOf = ({ v }: SentRow): string | undefined => {
  if (v === undefined) return ': expected at least one field that the model knows, came none (it is empty)';
  return v.startsWith('bad') ? `.v: expected a number, came ${v}` : undefined;
};

/** The reason in the output. */
export const reasonOf = (row: SentRow): string | undefined =>
  problemOf(row)
    ?.replace(/ \(it is empty\)$/, '')
    .replace(/^\.v/, 'v')
    .replace(/^: /, '');

export const scoreOf = ({ v = '' }: SentRow): number =>
  [...v].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 101, 7);

/** The end of a call. */
export type Fate = 'scored' | 'lost before' | 'lost after' | 'internal error' | 'key refused' | 'refused';

/**
 * A service without HTTP. Like the real one, it counts a call under one key once, and refuses another body under it.
 */
export class CountingService {
  /** Number of times that each record was counted, by its JSON. */
  readonly counted = new Map<string, number>();
  fateOf: () => Fate = () => 'scored';
  private readonly replies = new Map<string, { readonly body: string; readonly reply: string }>();

  connections(kill: KillSwitch): HttpConnections {
    return {
      post: (_url, { headers, body }) => {
        const answer = async () => this.answer(String(headers['idempotency-key']), body);
        // The run ends while its call is under way: the service may have got it.
        return kill.step(answer, async (share) => (share > 0.5 ? answer().catch(() => undefined) : undefined));
      },
      get: async () => refusal(404, 'not_found', 'No.'),
      send: () => Promise.reject(new Error('not used')),
      close: () => undefined,
    };
  }

  private answer(key: string, body: string): HttpReply {
    const fate = this.fateOf();
    if (fate === 'lost before') throw new Error('the connection was lost');
    // The service checks the key of the caller before it looks for a stored reply.
    if (fate === 'key refused') return refusal(401, 'invalid_api_key', 'The key was revoked.');
    if (fate === 'internal error') return refusal(500, 'internal_error', 'It failed.');
    const reply = this.replyTo(key, body, fate);
    if (fate === 'lost after') throw new Error('the connection was lost');
    return reply;
  }

  private replyTo(key: string, body: string, fate: Fate): HttpReply {
    const before = this.replies.get(key);
    if (before !== undefined) {
      if (before.body !== body) throw new Error(`another body under the key ${key}`);
      return { status: 200, headers: {}, body: before.reply };
    }
    if (fate === 'refused') return refusal(402, 'expired_read_only', 'The trial has ended.');
    const { records }: { readonly records: readonly SentRow[] } = JSON.parse(body);
    const problems = records.flatMap((row, index) => {
      const problem = problemOf(row);
      return problem === undefined ? [] : [`records[${index}]${problem}`];
    });
    if (problems.length > 0) {
      const more = problems.length > 5 ? `; and ${problems.length - 5} more` : '';
      const known = " GET /v1/models/mdl_a lists the model's fields.";
      const message = `${problems.slice(0, 5).join('; ')}${more}.${known} Nothing of the call was counted.`;
      return refusal(400, 'bad_request', message);
    }
    for (const row of records) {
      const text = JSON.stringify(row);
      this.counted.set(text, (this.counted.get(text) ?? 0) + 1);
    }
    const reply = JSON.stringify({ scores: records.map(scored) });
    this.replies.set(key, { body, reply });
    return { status: 200, headers: {}, body: reply };
  }
}

const scored = (row: SentRow) => ({
  score: scoreOf(row),
  conversion_likelihood: scoreOf(row) / 128,
  enriched: row.crm_id !== undefined,
  ...(row.crm_id === undefined ? {} : { crm_id: row.crm_id, previous_score: 1, delta: scoreOf(row) - 1 }),
  ...(scoreOf(row) % 5 === 0 ? { warnings: ['=one', 'two, "three"'] } : {}),
});

function refusal(status: number, code: string, message: string): HttpReply {
  return { status, headers: {}, body: JSON.stringify({ error: { code, message, docs_url: 'd' } }) };
}
