import type { WriteStream } from 'node:tty';
import { type Options, SingleBar } from 'cli-progress';
import { gauge } from './charts.js';
import { countText, readableDuration } from './readable-numbers.js';

export interface ProgressState {
  /** Finished items. */
  readonly done: number;
  /** Finished share, 0 to 1; undefined when the total is unknown. */
  readonly fraction: number | undefined;
  /** Shown after the count, such as `17 failed`. */
  readonly detail?: string;
  /** The time left, if the work knows it better than its pace does. */
  readonly leftMs?: number;
}

interface Sample extends ProgressState {
  readonly atMs: number;
}

export interface PaceReading {
  readonly perSecond: number | undefined;
  readonly leftMs: number | undefined;
}

/** Computes the rate and the time left from the samples of the last `windowMs`. */
export class Pace {
  private samples: Sample[] = [];

  constructor(private readonly windowMs = 15_000) {}

  /** @param atMs must not decrease from call to call */
  sample(atMs: number, state: ProgressState): void {
    this.samples.push({ atMs, ...state });
    const firstInside = this.samples.findIndex((sample) => sample.atMs >= atMs - this.windowMs);
    // Keeps one sample from before the window: rare samples would otherwise leave no interval to measure.
    if (firstInside > 1) this.samples = this.samples.slice(firstInside - 1);
  }

  /** Both are undefined until two samples are known; `leftMs` also while the fraction does not grow. */
  read(): PaceReading {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    const elapsedMs = first === undefined || last === undefined ? 0 : last.atMs - first.atMs;
    if (first === undefined || last === undefined || elapsedMs <= 0) return unknownPace;
    // An upload that goes on after a break may begin again before the last byte that it sent.
    const perSecond = Math.max(0, ((last.done - first.done) * 1000) / elapsedMs);
    if (last.fraction === undefined) return { perSecond, leftMs: undefined };
    const gained = last.fraction - (first.fraction ?? 0);
    const leftMs = gained <= 0 ? undefined : ((1 - last.fraction) * elapsedMs) / gained;
    return { perSecond, leftMs };
  }
}

const unknownPace: PaceReading = { perSecond: undefined, leftMs: undefined };

export interface ProgressOptions {
  /** A terminal shows a bar that is redrawn; any other stream gets a line at each interval. */
  readonly stream: NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;
  /** The activity, such as `Scoring`. */
  readonly label: string;
  /** The counted items in the plural, such as `records`; empty if `readable` says it. Without it, none are counted. */
  readonly unit?: string;
  /** Writes a number of items; `countText` by default. */
  readonly readable?: (count: number) => string;
  /** Interval between lines without a terminal; 5 s by default. */
  readonly lineEveryMs?: number;
}

const barWidth = 20;

/** Shows progress: bar, percentage, count, rate and time left. */
export class Progress {
  private readonly pace = new Pace();
  private readonly bar: SingleBar | undefined;
  private readonly lineEveryMs: number;
  private state: ProgressState = { done: 0, fraction: undefined };
  private note = '';
  private lastLineMs = 0;

  constructor(private readonly options: ProgressOptions) {
    this.lineEveryMs = options.lineEveryMs ?? 5_000;
    if (options.stream.isTTY === true) this.bar = this.newBar();
  }

  /** @param from the state that an earlier run reached */
  start(from: ProgressState = { done: 0, fraction: undefined }): void {
    this.state = from;
    this.lastLineMs = Date.now();
    this.pace.sample(Date.now(), from);
    this.bar?.start(1, from.fraction ?? 0);
  }

  update(state: ProgressState): void {
    this.state = state;
    this.note = '';
    this.pace.sample(Date.now(), state);
    this.show(false);
  }

  /** Shows why nothing moves, such as `waiting for the rate limit`, until the next update. */
  waiting(note: string): void {
    if (note === this.note) return;
    this.note = note;
    this.show(this.bar === undefined);
  }

  /** Writes lines above the bar, which goes on below them. */
  say(text: string): void {
    const wasActive = this.bar?.isActive === true;
    if (wasActive) this.bar?.stop();
    this.options.stream.write(`${text}\n`);
    if (wasActive) this.bar?.start(1, this.state.fraction ?? 0);
  }

  /** Leaves the last state on the screen. */
  stop(): void {
    if (this.bar?.isActive !== true) return;
    this.bar?.update(this.state.fraction ?? 0);
    this.bar?.stop();
  }

  private show(immediately: boolean): void {
    if (this.bar !== undefined) {
      this.bar.update(this.state.fraction ?? 0);
      return;
    }
    if (!immediately && Date.now() - this.lastLineMs < this.lineEveryMs) return;
    this.lastLineMs = Date.now();
    this.options.stream.write(`${this.line('')}\n`);
  }

  private newBar(): SingleBar {
    const options: Options = {
      stream: this.options.stream,
      fps: 8,
      clearOnComplete: false,
      hideCursor: true,
      gracefulExit: false,
      linewrap: false,
      format: () => this.line(`${gauge(this.state.fraction ?? 0, barWidth)}  `),
    };
    return new SingleBar(options);
  }

  private line(drawn: string): string {
    const { done, fraction, detail = '' } = this.state;
    const pace = this.pace.read();
    const { leftMs = pace.leftMs } = this.state;
    const { perSecond } = pace;
    const { unit, readable = countText } = this.options;
    const parts = [
      `${this.options.label}  ${drawn}`.trimEnd(),
      fraction === undefined ? '' : `${Math.floor(100 * fraction)} %`.padStart(5),
      unit === undefined ? '' : `${readable(done)} ${unit}`.trimEnd(),
      detail,
      unit === undefined || perSecond === undefined ? '' : `${readable(Math.round(perSecond))}/s`,
      this.note !== '' || leftMs === undefined || fraction === 1 ? this.note : `${readableDuration(leftMs)} left`,
    ];
    return parts.filter((part) => part !== '').join('  ');
  }
}
