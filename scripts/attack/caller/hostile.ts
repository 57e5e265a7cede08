import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { UsageBucket } from '../../../shared/redis/keys.js';
import { type AnswerName, type AttackReport, type HostileTarget, overloaded } from './messages.js';
import { RawSocket } from './raw-socket.js';

export interface HostileCall {
  /** POST with a body, GET without, by default. */
  readonly method?: string;
  /** With the query. */
  readonly path: string;
  /** Kind of the own key, a text to send as key, or null for no key; `live` by default. */
  readonly key?: UsageBucket | { readonly secret: string } | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless `headers` name another type. */
  readonly body?: string | Buffer;
  /** Closes the connection after this time. Such a call needs no answer. */
  readonly hangUpAfterMs?: number;
}

export interface HostileAnswer {
  readonly name: AnswerName;
  readonly text: string;
}

/** Beyond every deadline: 10 s from the last byte of a body. */
const answerLimitMs = 15_000;
const maxTextKept = 300;
const overloadText = /overloaded|in time|too many bytes at once/;

/** One hostile caller: its keys, its calls and their answers. */
export class Hostile {
  readonly modelId: string;
  /** A model that is explained by occlusion. */
  readonly slowModelId: string;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  private readonly answers: Record<AnswerName, number> = {};
  private readonly unexpected: Record<AnswerName, string> = {};
  private readonly sockets = new Set<RawSocket>();
  private began: number | undefined;

  constructor(
    private readonly target: HostileTarget,
    private readonly expected: readonly AnswerName[],
    private readonly durationMs: number,
  ) {
    [this.modelId = '', this.slowModelId = ''] = target.organisation.modelIds;
  }

  /** The time begins with the first call or connection, so that an attack may take its time to make bodies. */
  private get endMs(): number {
    this.began ??= performance.now();
    return this.began + this.durationMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.endMs;
  }

  secretOf(kind: UsageBucket): string {
    return this.target.organisation.secrets[kind === 'live' ? 0 : 1] ?? '';
  }

  /** Makes calls at a fixed rate until the end, without waiting for answers. Resolves when all are answered. */
  async atRate(perSecond: number, call: (index: number) => Promise<unknown>): Promise<void> {
    const calls: Promise<unknown>[] = [];
    for (let dueMs = performance.now(); !this.isOver; dueMs += 1_000 / perSecond) {
      calls.push(call(calls.length));
      await pause(Math.max(0, dueMs + 1_000 / perSecond - performance.now()));
    }
    await Promise.all(calls);
  }

  /** Runs callers side by side. Each makes its next call when the last one is answered. */
  async callers(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
    let made = 0;
    const caller = async () => {
      while (!this.isOver) await call(made++);
    };
    await Promise.all(Array.from({ length: count }, caller));
  }

  /** Waits for the end of the attack. */
  async untilOver(): Promise<void> {
    await pause(Math.max(0, this.endMs - performance.now()));
  }

  /** Sends one call and notes its answer. */
  async call({ key = 'live', path, body, hangUpAfterMs, ...call }: HostileCall): Promise<HostileAnswer | undefined> {
    const secret = typeof key === 'string' ? this.secretOf(key) : key?.secret;
    const headers = {
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...call.headers,
    };
    const method = call.method ?? (body === undefined ? 'GET' : 'POST');
    const answer = await new Promise<HostileAnswer | undefined>((resolve) => {
      const sent = request(`${this.target.url}${path}`, { agent: this.agent, method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', () => resolve({ name: 'closed', text: 'in the answer' }));
        response.on('end', () => resolve(answerOf(response.statusCode ?? 0, Buffer.concat(chunks))));
      });
      const give = (name: AnswerName | undefined, ms: number) =>
        setTimeout(() => {
          resolve(name === undefined ? undefined : { name, text: '' });
          sent.destroy();
        }, ms);
      const timers = [give('no answer', answerLimitMs)];
      if (hangUpAfterMs !== undefined) timers.push(give(undefined, hangUpAfterMs));
      sent.on('error', (error) => resolve({ name: 'closed', text: error.message }));
      sent.on('close', () => timers.forEach(clearTimeout));
      sent.end(body);
    });
    if (answer !== undefined) this.note(answer);
    return answer;
  }

  /** As `call`, for a body as gzip. */
  async callGzipped(call: HostileCall & { readonly body: Buffer }): Promise<HostileAnswer | undefined> {
    return await this.call({ ...call, headers: { ...call.headers, 'content-encoding': 'gzip' } });
  }

  /** Opens a connection for raw bytes, which ends with the attack. Undefined if the gateway does not accept it. */
  async connect(): Promise<RawSocket | undefined> {
    const socket = await RawSocket.open(this.target.url).catch(() => undefined);
    if (socket !== undefined) this.sockets.add(socket);
    return socket;
  }

  /** Waits for the next answer on a raw connection and notes it, or `closed`, or `no answer` after the limit. */
  async answerOn(socket: RawSocket, limitMs = answerLimitMs): Promise<HostileAnswer> {
    const raw = await socket.reply(limitMs);
    const answer = typeof raw === 'string' ? { name: raw, text: '' } : answerOf(raw.status, raw.body);
    this.note(answer);
    return answer;
  }

  note({ name, text }: HostileAnswer): void {
    this.answers[name] = (this.answers[name] ?? 0) + 1;
    if (!this.expected.includes(name)) this.unexpected[name] ??= text.slice(0, maxTextKept);
  }

  end(failure: string | undefined): AttackReport {
    this.agent.destroy();
    for (const socket of this.sockets) socket.destroy();
    return { answers: this.answers, unexpected: this.unexpected, failure };
  }
}

/** Names an answer by its status and error code. An error without the envelope has a name that no attack expects. */
function answerOf(status: number, body: Buffer): HostileAnswer {
  const text = body.toString('utf8', 0, 10_000);
  if (status < 400) return { name: String(status), text };
  try {
    const { code, message, docs_url } = (JSON.parse(text) as { error: Record<string, unknown> }).error;
    if (typeof code !== 'string' || typeof message !== 'string' || typeof docs_url !== 'string') throw new Error();
    return { name: status === 500 && overloadText.test(message) ? overloaded : `${status} ${code}`, text };
  } catch {
    return { name: `${status} without the error envelope`, text };
  }
}
