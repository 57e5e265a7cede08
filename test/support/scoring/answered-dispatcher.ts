import type { ScoringCall } from '../../../api/call/scoring-call.js';
import type { ColdVersions } from '../../../api/dispatch/cold-versions.js';
import { Dispatcher } from '../../../api/dispatch/dispatcher.js';
import type { ChunkFailure, ChunkReply, OutgoingPayload, PartReply } from '../../../shared/messages/score-job.js';
import { scoredPart, scoringCall } from './scoring-call.js';

/** A call of so many records without fields. */
export const callOf = (records: number, more: Partial<ScoringCall> = {}) =>
  scoringCall({ records: Array.from({ length: records }, () => ({ crmId: null, fields: {} })), ...more });

export const neverEnds = new Promise<never>(() => undefined);
export const scoredRow = scoredPart([50]);

/**
 * A dispatcher whose chunks are answered by `answer`. Collects the payloads that it sends and the ids that it drops.
 */
export function dispatcherWith(
  answer: (payload: OutgoingPayload) => Promise<readonly PartReply[]>,
  {
    windowSize = 100,
    partitions = 1,
    workers = 4,
    failure,
    coldVersions = { run: (_loaded, _timeoutMs, send) => send() },
  }: {
    readonly windowSize?: number;
    readonly partitions?: number;
    readonly workers?: number;
    readonly failure?: ChunkFailure;
    /** None are cold by default. */
    readonly coldVersions?: Pick<ColdVersions, 'run'>;
  } = {},
) {
  const sent: OutgoingPayload[] = [];
  const dropped: string[] = [];
  const replies = new Map<string, (reply: Promise<ChunkReply>) => void>();
  const queues = {
    partitions,
    windowSize: () => windowSize,
    workersOf: () => workers,
    isWithoutWorkers: () => false,
    add: async (_lane: string, payload: OutgoingPayload) => {
      sent.push(payload);
      const { chunk } = payload;
      const reply = answer(payload).then((parts) => ({ chunk, parts, ...(failure ? { failure } : {}) }));
      replies.get(chunk)?.(reply);
    },
    cancel: (lane: string, { chunk }: OutgoingPayload) => void dropped.push(`${lane} ${chunk}`),
  };
  const stream = {
    waitFor: (chunk: string) => new Promise<ChunkReply>((resolve) => replies.set(chunk, resolve)),
    forget: (chunk: string) => void dropped.push(`reply ${chunk}`),
  };
  return { dispatcher: new Dispatcher({ gatewayId: 'gw', queues, replies: stream, coldVersions }), sent, dropped };
}
