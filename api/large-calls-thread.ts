import { parentPort } from 'node:worker_threads';
import { readConfig } from '../shared/config/config.js';
import { machineClock } from '../shared/contract/dates.js';
import { freeBytes } from '../shared/process/free-bytes.js';
import { Lifecycle } from '../shared/process/lifecycle.js';
import { createLogger } from '../shared/process/logger.js';
import { largeCallsNiceness, lowerThreadPriority } from '../shared/process/low-priority.js';
import { RedisHealth } from '../shared/redis/health.js';
import { startCaches } from './admission/caches.js';
import { connect, connectSubscriber } from './connections.js';
import {
  type MessageFromThread,
  type MessageToThread,
  ownStartMs,
  type SentCall,
  sentFailure,
  type ThreadFigures,
} from './large-calls/messages.js';
import { LargeBodies } from './request/large-bodies.js';
import type { ReceivedCall } from './request/receive-call.js';
import { type ScoringAnswers, scoringAnswers } from './routes/scoring-routes.js';
import { startScoring } from './services.js';

/**
 * The composition root of the gateway's thread for large calls. It answers calls that the main thread has received,
 * with the same services.
 */
async function start(port: NonNullable<typeof parentPort>): Promise<void> {
  const config = readConfig();
  if (config.lowersPriority) lowerThreadPriority(largeCallsNiceness);
  const logger = createLogger(config.logLevel, 'gateway', { reportsOutages: false });
  process.on('unhandledRejection', (error) => logger.error({ error }, 'unhandled rejection'));
  const lifecycle = new Lifecycle(logger);
  const clock = machineClock(config.clockOffsetMs);
  const owner = { name: 'gateway', thread: 'large', config, logger, lifecycle, clock } as const;
  const connections = await connect(owner);
  const subscriber = await connectSubscriber(owner);
  const { commands, jobs, mongo } = connections;
  for (const redis of [commands, jobs, subscriber])
    lifecycle.add(new RedisHealth(redis, { ...config.timings.redis, outage: logger.outages.Redis }));
  const { follower, ...caches } = await startCaches({
    ...owner,
    database: mongo.database,
    subscriber,
    keysWith: () => undefined,
  });
  lifecycle.add(follower);
  const scoring = await startScoring(owner, connections, { caches, sumsFieldDays: true });
  const answers = scoringAnswers(scoring);
  const largeBodies = new LargeBodies(() => scoring.queues.workersOf('batches'));
  const answerer = new Answerer({
    answers,
    largeBodies,
    send: (message, transfer) => port.postMessage(message, transfer),
  });
  const figures = (): ThreadFigures => ({
    chunksWaiting: {
      singles: scoring.dispatcher.waiting('singles'),
      batches: scoring.dispatcher.waiting('batches'),
      bulk: scoring.dispatcher.waiting('bulk'),
    },
    callsToVoid: scoring.callVoider.pending,
  });
  port.on('message', (message: MessageToThread) => {
    if (message.kind === 'call') void answerer.answer(message.id, message);
    else if (message.kind === 'hungUp') answerer.hungUp(message.id);
    else if (message.kind === 'figures') port.postMessage({ kind: 'figures', id: message.id, figures: figures() });
    else void lifecycle.stop().then(() => process.exit(0));
  });
  port.postMessage({ kind: 'ready' });
}

interface AnswererDeps {
  readonly answers: ScoringAnswers;
  readonly largeBodies: LargeBodies;
  readonly send: (message: MessageFromThread, transfer: readonly ArrayBuffer[]) => void;
}

/** Answers the calls of the main thread. */
class Answerer {
  /** The calls in flight, each with whether its caller has hung up. */
  private readonly calls = new Map<number, { hasHungUp: boolean }>();

  constructor(private readonly deps: AnswererDeps) {}

  hungUp(id: number): void {
    const call = this.calls.get(id);
    if (call !== undefined) call.hasHungUp = true;
  }

  async answer(id: number, { route, call: { received, ...call } }: SentCall): Promise<void> {
    const { answers, largeBodies, send } = this.deps;
    const caller = { hasHungUp: false };
    this.calls.set(id, caller);
    const { body, deadline } = received;
    try {
      const own: ReceivedCall = {
        ...received,
        body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
        deadline: { ...deadline, monotonicMs: deadline.monotonicMs - ownStartMs },
        hasHungUp: () => caller.hasHungUp,
        onHangUp: () => () => undefined,
      };
      const { reply, scored } = await largeBodies.inTurn(own, () => answers[route]({ ...call, received: own }));
      const utf8 = new TextEncoder().encode(reply.body);
      send({ kind: 'answer', id, answer: { reply: { ...reply, body: utf8 }, scored } }, [utf8.buffer]);
    } catch (error) {
      send({ kind: 'failure', id, failure: sentFailure(error) }, []);
    } finally {
      freeBytes(body);
      this.calls.delete(id);
    }
  }
}

if (parentPort === null) throw new Error('this file runs as a thread of the gateway: start the gateway');
await start(parentPort);
