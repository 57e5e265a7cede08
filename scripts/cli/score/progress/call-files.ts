import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parse, type ScoreReply, type ScoreRow } from '../calls/api-reply.js';
import type { Disk } from './disk.js';
import { callPath } from './progress-files.js';

/** A call that was sent. The same body under the same key is counted once, for 24 hours. */
export interface SentCall {
  readonly id: string;
  readonly key: string;
  readonly body: string;
  /** When it was first sent, ms since 1970. */
  readonly sentAtMs: number;
  /** `textDigest` of its rows, joined, as base64. */
  readonly rows: string;
}

/** A call of an earlier run, with its scores if the reply has arrived. */
export interface EarlierCall extends SentCall {
  readonly scores: readonly ScoreRow[] | undefined;
}

/**
 * Writes each call into a file of its own before it is sent, and its scores after the reply. After a crash the same
 * call can be sent again, or its scores used, whatever became of the input file.
 */
export class CallFiles {
  /** Rows of calls that were answered and are not yet in the output. */
  private readonly answered = new Map<string, number>();
  /** Calls whose reply is unknown. */
  private readonly open = new Set<string>();
  /** Calls of earlier runs that were sent again. Their rows are those of a pool. */
  private readonly reopened = new Set<string>();

  /** @param files undefined without progress: then only counts */
  constructor(private readonly files: { readonly disk: Disk; readonly folder: string } | undefined) {}

  /** Rows that the service has counted and that are not yet in the output. */
  get answeredRows(): number {
    return [...this.answered.values()].reduce((sum, rows) => sum + rows, 0);
  }

  /** Whether the service may have counted a call without a reply. */
  get hasOpen(): boolean {
    return this.open.size > 0;
  }

  /**
   * Must end before the call is sent: without its key, a call that a power cut has forgotten would be counted again.
   */
  async begin({ body, rows }: Pick<SentCall, 'body' | 'rows'>): Promise<SentCall> {
    const id = randomUUID();
    const call: SentCall = { id, key: `leadscore-score-${id}`, sentAtMs: Date.now(), rows, body };
    if (this.files !== undefined) {
      const { disk, folder } = this.files;
      const { body: _, ...head } = call;
      // The body has no line end. A line of its own saves quoting all of it once more.
      await disk.appendSafely(callPath(folder, id), `${JSON.stringify({ format: 2, ...head })}\n${body}\n`);
    }
    this.open.add(id);
    return call;
  }

  async keepReply({ id }: SentCall, { scores }: ScoreReply): Promise<void> {
    if (!this.reopened.has(id)) this.answered.set(id, scores.length);
    if (this.files !== undefined) {
      const { disk, folder } = this.files;
      const path = callPath(folder, id);
      // A crash may have cut the line of an earlier reply.
      const line = `\n${JSON.stringify({ scores })}\n`;
      // Rows of such a call are taken one by one. With a lost reply, all of them would be there to be taken again.
      if (this.reopened.has(id)) await disk.appendSafely(path, line);
      else await disk.append(path, line);
    }
    this.open.delete(id);
  }

  /** Notes that a call of an earlier run is sent again. */
  reopen({ id }: SentCall): void {
    this.open.add(id);
    this.reopened.add(id);
  }

  /** Forgets calls whose scores are in the output, or that were not counted. */
  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (this.files !== undefined) await this.files.disk.remove(callPath(this.files.folder, id));
      this.answered.delete(id);
      this.open.delete(id);
    }
  }
}

/** @returns undefined for an incomplete file: its call was never sent */
export async function readCall(folder: string, id: string): Promise<EarlierCall | undefined> {
  // The last item is empty, or a line that a crash has cut.
  const lines = (await readFile(callPath(folder, id), 'utf8')).split('\n').slice(0, -1);
  const [head = '', body] = lines;
  const sent = parse(head) as Omit<SentCall, 'body'> | undefined;
  if (sent === undefined || body === undefined) return undefined;
  const replies = lines.slice(2).map((line) => parse(line) as Pick<ScoreReply, 'scores'> | undefined);
  return { ...sent, body, scores: replies.findLast((reply) => reply !== undefined)?.scores };
}
