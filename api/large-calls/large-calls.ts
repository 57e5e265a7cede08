import { Worker } from 'node:worker_threads';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import { projectFile } from '../../shared/process/project-root.js';
import { CallerGone } from '../request/read-body.js';
import type { Answer, ArrivedCall, ScoringRoute } from './arrived-call.js';
import {
  type MessageFromThread,
  type MessageToThread,
  ownStartMs,
  type SentAnswer,
  type ThreadFigures,
  thrownFailure,
} from './messages.js';

/** The answer to a large call, with its body as UTF-8. */
export type LargeAnswer = Omit<Answer, 'reply'> & {
  readonly reply: { readonly body: Buffer; readonly isReplay: boolean };
};

interface Waiting {
  readonly resolve: (result: SentAnswer | ThreadFigures) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Hands large calls to a thread of their own, so that small ones never wait for their steps. The kernel divides the
 * processors between the two. The thread has its own connections, queues and caches.
 */
export class LargeCalls implements Stoppable {
  readonly name = 'large calls';
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private isStopping = false;

  private constructor(private readonly thread: Worker) {
    thread.on('message', (message: MessageFromThread) => this.receive(message));
  }

  /**
   * Starts the thread. Resolves when it can answer calls.
   * @param onEnd called when the thread ends by itself, with the reason
   * @throws the error with which the thread ended
   */
  static async start(onEnd: (error: Error) => void, thread = newThread()): Promise<LargeCalls> {
    const calls = new LargeCalls(thread);
    let failure: Error | undefined;
    thread.on('error', (error) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    const ended = exitOf(thread).then(() => failure ?? new Error('the thread for large calls has ended'));
    await new Promise((resolve, reject) => {
      thread.once('message', resolve);
      void ended.then(reject);
    });
    void ended.then((error) => {
      for (const { reject } of calls.waiting.values()) reject(error);
      if (!calls.isStopping) onEnd(error);
    });
    return calls;
  }

  /**
   * Answers a call in the thread. Its body must not be used afterwards: its memory moves to the thread.
   * @throws the ApiError of the call; CallerGone
   */
  async answer(route: ScoringRoute, call: ArrivedCall): Promise<LargeAnswer> {
    const { hasHungUp, onHangUp, ...received } = call.received;
    // While a body is inflated, the caller may hang up before anything listens for it.
    if (hasHungUp()) throw new CallerGone('the caller hung up before its call was handed over');
    const body = ownMemory(received.body);
    const deadline = { ...received.deadline, monotonicMs: received.deadline.monotonicMs + ownStartMs };
    const id = this.nextId();
    const forgetCaller = onHangUp(() => this.send({ kind: 'hungUp', id }));
    try {
      const sent = { ...call, received: { ...received, body, deadline } };
      const { reply, ...answer } = (await this.request({ kind: 'call', id, route, call: sent }, [
        body.buffer,
      ])) as SentAnswer;
      const { buffer, byteOffset, byteLength } = reply.body;
      return { ...answer, reply: { ...reply, body: Buffer.from(buffer, byteOffset, byteLength) } };
    } finally {
      forgetCaller();
    }
  }

  /** Time in which the event loop of the thread was busy since its start, ms. */
  get busyMs(): number {
    return this.thread.performance.eventLoopUtilization().active;
  }

  /** Figures of the thread, for metrics. */
  async figures(): Promise<ThreadFigures> {
    return (await this.request({ kind: 'figures', id: this.nextId() })) as ThreadFigures;
  }

  /** Stops the thread when its calls are answered: the gateway takes no calls any more. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const ended = exitOf(this.thread);
    this.send({ kind: 'stop' });
    await ended;
  }

  private nextId(): number {
    this.lastId += 1;
    return this.lastId;
  }

  private request(
    message: MessageToThread & { readonly id: number },
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<SentAnswer | ThreadFigures> {
    return new Promise((resolve, reject) => {
      this.waiting.set(message.id, { resolve, reject });
      this.send(message, transfer);
    });
  }

  private send(message: MessageToThread, transfer: readonly ArrayBuffer[] = []): void {
    this.thread.postMessage(message, transfer);
  }

  private receive(message: MessageFromThread): void {
    if (message.kind === 'ready') return;
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.kind === 'answer') waiting?.resolve(message.answer);
    else if (message.kind === 'figures') waiting?.resolve(message.figures);
    else waiting?.reject(thrownFailure(message.failure));
  }
}

/** Unlike `once` of node:events, it does not reject when the thread fails before. */
const exitOf = (thread: Worker): Promise<void> => new Promise((resolve) => thread.once('exit', () => resolve()));

/**
 * V8's room for young objects of the thread, MB: half of V8's own limit, with which an idle thread keeps more. With a
 * quarter, batches took more CPU time.
 */
const maxYoungGenerationSizeMb = 24;

const newThread = (): Worker =>
  new Worker(projectFile('dist/api/large-calls-thread.js'), { resourceLimits: { maxYoungGenerationSizeMb } });

/** The bytes in memory of their own. A body of one chunk shares memory with other data of its connection. */
function ownMemory(body: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = body;
  const isWhole = buffer instanceof ArrayBuffer && byteLength === buffer.byteLength;
  return isWhole ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(body);
}
