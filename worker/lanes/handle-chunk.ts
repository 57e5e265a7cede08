import type { ChunkHead, ChunkJob, ChunkPayload, ChunkReply } from '../../shared/messages/score-job.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';
import { type CrashNoteWriter, noted } from '../pool/crash-note.js';
import { isQuarantined, quarantineKey } from '../pool/quarantine.js';
import type { ChunkReplies } from './chunk-replies.js';

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
  readonly crashNote: Pick<CrashNoteWriter, 'forChunk'>;
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
export const handleChunk = (job: ChunkJob, deps: ChunkDeps): Promise<void> =>
  deps.crashNote.forChunk(job, () => handleNoted(job, deps));

/** Begins with a payload in the job before it is known to be awaited: both are then asked of Redis in one write. */
async function handleNoted({ payload, ...head }: ChunkJob, deps: ChunkDeps): Promise<void> {
  const { replies, begin, commands } = deps;
  const begun = (text: string) => noted(() => begin({ ...head, ...JSON.parse(text) } as ChunkPayload));
  inOneWrite(commands);
  const early = payload === undefined ? undefined : begun(payload);
  const awaited = await replies.read(head);
  if (awaited === undefined) return;
  if (isQuarantined(awaited.strikes, quarantineKey(head), Date.now())) return replies.send(head, quarantined(head));
  const reply = await scoreOrFail(head, early ?? begun(awaited.text), deps);
  if (reply !== undefined) replies.send(head, reply);
}

const quarantined = ({ chunk, model, version }: ChunkHead): ChunkReply => ({
  chunk,
  parts: [],
  failure: {
    code: 'model_unavailable',
    message: `version ${version} of ${model} is quarantined: it crashed or hung its worker`,
  },
});

/**
 * Replies with a failure where scoring throws, so that the call need not wait for its deadline. Undefined if abandoned.
 */
async function scoreOrFail(
  head: ChunkHead,
  score: ReturnType<ChunkDeps['begin']>,
  { abandonedCheckMs, logger, replies }: ChunkDeps,
): Promise<ChunkReply | undefined> {
  const { chunk, model } = head;
  const abandoned = new AbortController();
  const check = async (): Promise<void> => {
    const isAwaited = await replies.isAwaited(head).catch(() => true);
    if (!isAwaited) abandoned.abort(new ChunkAbandoned('no gateway awaits the chunk'));
  };
  const timer = setInterval(() => void check(), abandonedCheckMs);
  try {
    return await score(abandoned.signal);
  } catch (error) {
    if (error instanceof ChunkAbandoned) return undefined;
    logger.error({ chunk, model, error }, 'chunk could not be scored');
    return { chunk, parts: [], failure: { code: 'scoring_failed', message: 'the records could not be scored' } };
  } finally {
    clearInterval(timer);
  }
}
