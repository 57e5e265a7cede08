import { CliError } from '../../context/cli-error.js';
import { countText } from '../../output/readable-numbers.js';
import type { CallFiles, EarlierCall } from '../progress/call-files.js';
import type { ScoreReply } from './api-reply.js';
import { CallRefused, type ScoreCall, type ScoreClient } from './score-client.js';

/** The service replays a reply for 24 hours. The rest is for clocks that differ. */
const maxReplayMs = (24 * 60 - 15) * 60_000;

/** Sends calls so that each is on disk before it is sent, and its reply before it is used. */
export class RecordedCalls {
  constructor(
    private readonly client: Pick<ScoreClient, 'score'>,
    private readonly files: CallFiles,
  ) {}

  /** @throws CallRefused; AbortError when the run is stopped */
  async score({
    body,
    digests,
  }: {
    readonly body: string;
    readonly digests: readonly Buffer[];
  }): Promise<{ readonly id: string; readonly reply: ScoreReply }> {
    const sent = await this.files.begin({ body, rows: Buffer.concat(digests).toString('base64') });
    const call: ScoreCall = { body, records: digests.length, idempotencyKey: sent.key };
    const reply = await this.forgettingUncounted(sent.id, call);
    await this.files.keepReply(sent, reply);
    return { id: sent.id, reply };
  }

  /**
   * Sends a call of an earlier run again, byte for byte under the same key.
   * @param sendAgain whether its rows may be sent again when the service has forgotten the key
   * @returns undefined when it was not counted, or may be sent again
   * @throws CallRefused; AbortError; CliError when the service cannot tell any more whether it has counted the call
   */
  async replay(sent: EarlierCall, records: number, sendAgain: boolean): Promise<ScoreReply | undefined> {
    if (Date.now() - sent.sentAtMs > maxReplayMs) {
      if (!sendAgain) throw expired(records);
      await this.files.remove([sent.id]);
      return undefined;
    }
    this.files.reopen(sent);
    try {
      const call = { body: sent.body, records, idempotencyKey: sent.key, wasSent: true };
      const reply = await this.forgettingUncounted(sent.id, call);
      await this.files.keepReply(sent, reply);
      return reply;
    } catch (error) {
      if (error instanceof CallRefused && !error.mayBeCounted && error.failure.code === 'bad_request') return undefined;
      throw error;
    }
  }

  private async forgettingUncounted(id: string, call: ScoreCall): Promise<ScoreReply> {
    try {
      return await this.client.score(call);
    } catch (error) {
      if (error instanceof CallRefused && !error.mayBeCounted) await this.files.remove([id]);
      throw error;
    }
  }
}

const expired = (rows: number): CliError =>
  new CliError(
    `${countText(rows)} rows were sent more than 24 hours ago and their reply was lost. The service cannot tell any more whether it has counted them. Add --send-again to score them now: they may be counted twice. Or remove these rows from the file`,
    { code: 'reply_expired', details: { rows } },
  );
