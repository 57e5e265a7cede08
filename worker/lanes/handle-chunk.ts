import { DelayedError, type Job } from 'bullmq';
import type { ChunkJob, ChunkPayload, ChunkReply } from '../../shared/messages/score-job.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';
import { isQuarantined, isSuspended } from '../pool/quarantine.js';
import { ChunkAbandoned, untilAbandoned } from './abandoned-chunk.js';
import type { AwaitedChunk, ChunkReplies } from './chunk-replies.js';

export interface ChunkDeps {
  readonly mailbox: ChunkReplies;
  /** Over which both the mailbox and `begin` ask Redis. */
  readonly commands: Redis;
  /**
   * Begins with a chunk, without waiting for anything; what it gives scores the chunk, and throws the reason of its signal
   * where that is aborted before it is done.
   */
  readonly begin: (chunk: ChunkPayload) => (signal: AbortSignal) => Promise<ChunkReply>;
  readonly logger: Logger;
}

/** A job whose model holds up another worker is put back for this long: it is not known yet whether that will come back. */
const putBackMs = 100;

/**
 * Scores the chunk of a job, when somebody waits for it, and replies. It returns as soon as the reply is on its way, so that
 * BullMQ ends the job in the same write.
 * @throws DelayedError when the job was put back; what Redis fails with
 */
export async function handleChunk(
  job: Job<ChunkJob>,
  token: string | undefined,
  deps: ChunkDeps,
): Promise<void> {
  const { mailbox } = deps;
  const chunk = await awaitedChunk(job.data, deps);
  if (chunk === undefined) return;
  const { payload, strikes } = chunk;
  const modelKey = `${payload.model}:${payload.version}`;
  const nowMs = Date.now();
  if (isQuarantined(strikes, modelKey, nowMs)) return mailbox.reply(payload, quarantined(payload));
  if (isSuspended(strikes, modelKey, nowMs)) {
    await job.moveToDelayed(nowMs + putBackMs, token);
    throw new DelayedError();
  }
  const reply = await scoreOrFail(chunk, deps);
  if (reply !== undefined) mailbox.reply(payload, reply);
}

/** A chunk that somebody waits for, and what scores it. */
interface BegunChunk {
  readonly payload: ChunkPayload;
  readonly score: (signal: AbortSignal) => Promise<ChunkReply>;
}

/**
 * The chunk of a job, when somebody waits for it. What its job holds is begun with in the same write in which that is asked;
 * it is scored only afterwards.
 */
async function awaitedChunk(
  { chunk, payload }: ChunkJob,
  { mailbox, begin, commands }: ChunkDeps,
): Promise<(BegunChunk & Pick<AwaitedChunk, 'strikes'>) | undefined> {
  const begun = (text: string): BegunChunk => {
    const read = JSON.parse(text) as ChunkPayload;
    return { payload: read, score: begin(read) };
  };
  inOneWrite(commands);
  const early = payload === undefined ? undefined : begun(payload);
  const awaited = await mailbox.read(chunk);
  return awaited && { ...(early ?? begun(awaited.text)), strikes: awaited.strikes };
}

const quarantined = ({ chunk, model, version }: ChunkPayload): ChunkReply => ({
  chunk,
  parts: [],
  failure: {
    code: 'model_unavailable',
    message: `version ${version} of ${model} is quarantined: it stopped two workers`,
  },
});

/**
 * What cannot be scored is answered at once, not left to the caller's deadline. Gives undefined when nobody waits any more.
 */
async function scoreOrFail(
  { payload, score }: BegunChunk,
  { logger, mailbox }: ChunkDeps,
): Promise<ChunkReply | undefined> {
  try {
    return await untilAbandoned(() => mailbox.isAwaited(payload.chunk), score);
  } catch (error) {
    if (error instanceof ChunkAbandoned) return undefined;
    logger.error({ chunk: payload.chunk, model: payload.model, error }, 'chunk could not be scored');
    return {
      chunk: payload.chunk,
      parts: [],
      failure: { code: 'scoring_failed', message: 'the records could not be scored' },
    };
  }
}
