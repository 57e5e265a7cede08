import { type OutputStream, wrappedFor } from '../context/cli-context.js';
import { Progress, type ProgressState } from '../output/progress.js';
import { readableBytes } from '../output/readable-numbers.js';

/** The bars of a command that uploads, waits and downloads. */
export type JobPhase = 'Uploading' | 'Scoring' | 'Downloading';

/** Shows the phases of a command on standard error, one bar at a time. With `--json` it shows nothing. */
export class JobScreen {
  private shown: { readonly phase: JobPhase; readonly progress: Progress } | undefined;

  constructor(
    private readonly stream: OutputStream,
    private readonly isSilent: boolean,
  ) {}

  /** Shows a state of a phase. The first one of a phase begins its bar. */
  update(phase: JobPhase, state: ProgressState): void {
    if (this.isSilent) return;
    const { progress, isNew } = this.begun(phase);
    if (isNew) progress.start(state);
    else progress.update(state);
  }

  /** Shows how much of a file has been downloaded. */
  downloaded(bytes: number, total: number | undefined): void {
    this.update('Downloading', { done: bytes, fraction: total === undefined ? undefined : bytes / total });
  }

  /** Shows at the bar why nothing moves, until the next update. */
  waiting(why: string): void {
    if (this.isSilent) return;
    if (this.shown === undefined) this.say(`Waiting: ${why}.`);
    else this.shown.progress.waiting(why);
  }

  /** Writes a sentence above the bar. */
  say(text: string): void {
    if (this.isSilent) return;
    const wrapped = wrappedFor(this.stream, text);
    if (this.shown === undefined) this.stream.write(`${wrapped}\n`);
    else this.shown.progress.say(wrapped);
  }

  /** Leaves the last state of the bar on the screen. */
  stop(): void {
    this.shown?.progress.stop();
    this.shown = undefined;
  }

  private begun(phase: JobPhase): { readonly progress: Progress; readonly isNew: boolean } {
    if (this.shown?.phase === phase) return { progress: this.shown.progress, isNew: false };
    this.stop();
    const counted = phase === 'Scoring' ? { unit: 'rows' } : { unit: '', readable: readableBytes };
    const progress = new Progress({ stream: this.stream, label: phase, ...counted });
    this.shown = { phase, progress };
    return { progress, isNew: true };
  }
}
