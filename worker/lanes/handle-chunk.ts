import type { ChunkJob, ChunkPayload, ChunkReply } from '../../shared/messages/score-job.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';
import { isQuarantined } from '../pool/quarantine.js';
import type { AwaitedChunk, ChunkReplies } from './chunk-replies.js';

export interface ChunkDeps {
  readonly replies: ChunkReplies;
  /** The connection over which both `replies` and `begin` send commands. */
  readonly commands: Redis;
  /**
   * Begins with a chunk, without waiting for anything. The function that it returns scores the chunk; it throws the
   * reason of its signal when that is aborted.
   */
  readonly begin: (chunk: ChunkPayload) => (signal: AbortSignal) => Promise<ChunkReply>;
  /** How often a chunk that is being scored is checked for a gateway that still awaits it. */
  readonly abandonedCheckMs: number;
  readonly logger: Logger;
}

/** No gateway awaits the chunk any more: its calls were answered otherwise, or their callers have hung up. */
export class ChunkAbandoned extends Error {
  override name = 'ChunkAbandoned';
}

/**
 * Scores the chunk of a job, if a gateway awaits it, and replies. It returns as soon as the reply is sent, so that
 * BullMQ ends the job in the same write.
 * @throws errors of Redis
 */
export async function handleChunk(job: ChunkJob, deps: ChunkDeps): Promise<void> {
  const { replies } = deps;
  const chunk = await awaitedChunk(job, deps);
  if (chunk === undefined) return;
  const { payload, strikes } = chunk;
  if (isQuarantined(strikes, `${payload.model}:${payload.version}`, Date.now()))
    return replies.send(payload, quarantined(payload));
  const reply = await scoreOrFail(chunk, deps);
  if (reply !== undefined) replies.send(payload, reply);
}

/** An awaited chunk, and the function that scores it. */
interface BegunChunk {
  readonly payload: ChunkPayload;
  readonly score: (signal: AbortSignal) => Promise<ChunkReply>;
}

/**
 * Reads the chunk of a job; undefined if no gateway awaits it. A payload in the job is begun with before that is known,
 * so that both are asked of Redis in one write.
 */
async function awaitedChunk(
  { chunk, payload }: ChunkJob,
  { replies, begin, commands }: ChunkDeps,
): Promise<(BegunChunk & Pick<AwaitedChunk, 'strikes'>) | undefined> {
  const begun = (text: string): BegunChunk => {
    const read = JSON.parse(text) as ChunkPayload;
    return { payload: read, score: begin(read) };
  };
  inOneWrite(commands);
  const early = payload === undefined ? undefined : begun(payload);
  const awaited = await replies.read(chunk);
  return awaited && { ...(early ?? begun(awaited.text)), strikes: awaited.strikes };
}

const quarantined = ({ chunk, model, version }: ChunkPayload): ChunkReply => ({
  chunk,
  parts: [],
  failure: {
    code: 'model_unavailable',
    message: `version ${version} of ${model} is quarantined: it crashed or hung its worker`,
  },
});

/** Replies with a failure where scoring throws, so that the call need not wait for its deadline. Undefined if abandoned. */
async function scoreOrFail(
  { payload, score }: BegunChunk,
  { abandonedCheckMs, logger, replies }: ChunkDeps,
): Promise<ChunkReply | undefined> {
  const abandoned = new AbortController();
  const check = async (): Promise<void> => {
    const isAwaited = await replies.isAwaited(payload.chunk).catch(() => true);
    if (!isAwaited) abandoned.abort(new ChunkAbandoned('no gateway awaits the chunk'));
  };
  const timer = setInterval(() => void check(), abandonedCheckMs);
  try {
    return await score(abandoned.signal);
  } catch (error) {
    if (error instanceof ChunkAbandoned) return undefined;
    logger.error({ chunk: payload.chunk, model: payload.model, error }, 'chunk could not be scored');
    return {
      chunk: payload.chunk,
      parts: [],
      failure: { code: 'scoring_failed', message: 'the records could not be scored' },
    };
  } finally {
    clearInterval(timer);
  }
}
