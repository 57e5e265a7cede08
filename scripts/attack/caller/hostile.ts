import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { UsageBucket } from '../../../shared/redis/keys.js';
import { closedLoop, openLoop } from '../../load/loops.js';
import { openSocket, RawConnection } from '../../load/raw-connection.js';
import { type LoadAnswer, type LoadCall, sendCall, unanswered } from '../../load/send-call.js';
import { type AnswerName, type AttackReport, type HostileTarget, overloaded } from './messages.js';

/** A call that hangs up needs no answer. */
export interface HostileCall extends Pick<LoadCall, 'method' | 'headers' | 'hangUpAfterMs'> {
  /** With the query. */
  readonly path: string;
  /** Kind of the own key, a text to send as key, or null for no key; `live` by default. */
  readonly key?: UsageBucket | { readonly secret: string } | null;
  readonly body?: string | Buffer;
}

export interface HostileAnswer {
  readonly name: AnswerName;
  readonly text: string;
}

/** Beyond every deadline: 10 s from the last byte of a body. */
const answerLimitMs = 15_000;
const maxTextKept = 300;
const retryAfter = /\r\nretry-after: /i;
const overloadText = /overloaded|in time|too many bytes at once/;

/** One hostile caller: its keys, its calls and their answers. */
export class Hostile {
  readonly modelId: string;
  /** A model that is explained by occlusion. */
  readonly slowModelId: string;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  private readonly answers: Record<AnswerName, number> = {};
  private readonly unexpected: Record<AnswerName, string> = {};
  private readonly sockets = new Set<RawConnection>();
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
    let made = 0;
    await openLoop({ gapMs: () => 1_000 / perSecond, isOver: () => this.isOver }, () => call(made++));
  }

  /** Runs callers side by side. Each makes its next call when the last one is answered. */
  async callers(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
    await closedLoop(count, () => this.isOver, call);
  }

  /** Waits for the end of the attack. */
  async untilOver(): Promise<void> {
    await pause(Math.max(0, this.endMs - performance.now()));
  }

  /** Sends one call and notes its answer. */
  async call({ key = 'live', path, ...call }: HostileCall): Promise<HostileAnswer | undefined> {
    const secret = typeof key === 'string' ? this.secretOf(key) : key?.secret;
    const sent = { ...call, secret, agent: this.agent, limitMs: answerLimitMs };
    const named = ({ headers, ...reply }: LoadAnswer) => answerOf(reply, headers['retry-after'] !== undefined);
    const answer = await sendCall(`${this.target.url}${path}`, sent).then(named, (error: unknown) => {
      const { how, message } = unanswered(error);
      return how === 'hung-up' ? undefined : { name: how === 'late' ? 'no answer' : 'closed', text: message };
    });
    if (answer !== undefined) this.note(answer);
    return answer;
  }

  /** As `call`, for a body as gzip. */
  async callGzipped(call: HostileCall & { readonly body: Buffer }): Promise<HostileAnswer | undefined> {
    return await this.call({ ...call, headers: { ...call.headers, 'content-encoding': 'gzip' } });
  }

  /** Opens a connection for raw bytes, which ends with the attack. Undefined if the gateway does not accept it. */
  async connect(): Promise<RawConnection | undefined> {
    const socket = await openSocket(this.target.url).catch(() => undefined);
    if (socket === undefined) return undefined;
    const connection = new RawConnection(socket);
    this.sockets.add(connection);
    return connection;
  }

  /** Waits for the next answer on a raw connection and notes it, or `closed`, or `no answer` after the limit. */
  async answerOn(socket: RawConnection, limitMs = answerLimitMs): Promise<HostileAnswer> {
    const raw = await socket.next(limitMs);
    const answer = typeof raw === 'string' ? { name: raw, text: '' } : answerOf(raw, retryAfter.test(raw.head));
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
function answerOf({ status, body }: Pick<LoadAnswer, 'status' | 'body'>, saysWhen: boolean): HostileAnswer {
  const text = body.toString('utf8', 0, 10_000);
  if (status < 400) return { name: String(status), text };
  try {
    const { code, message, docs_url } = (JSON.parse(text) as { error: Record<string, unknown> }).error;
    if (typeof code !== 'string' || typeof message !== 'string' || typeof docs_url !== 'string') throw new Error();
    const isOverload = status === 500 && saysWhen && overloadText.test(message);
    return { name: isOverload ? overloaded : `${status} ${code}`, text };
  } catch {
    return { name: `${status} without the error envelope`, text };
  }
}
