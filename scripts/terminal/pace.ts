/** How far something has come. */
export interface ProgressState {
  /** Things done. */
  readonly done: number;
  /** Share of the work that is done, 0 to 1; undefined when the whole is not known. */
  readonly fraction: number | undefined;
}

interface Sample extends ProgressState {
  readonly atMs: number;
}

/** How fast something goes and how long it will take, judged by what happened lately. */
export interface PaceReading {
  readonly perSecond: number | undefined;
  readonly leftMs: number | undefined;
}

/** Derives rate and time left from how far something had come at several moments of the last `windowMs`. */
export class Pace {
  private samples: Sample[] = [];

  constructor(private readonly windowMs = 15_000) {}

  /** Takes down how far it has come at a moment, in ms; moments ascend. */
  sample(atMs: number, state: ProgressState): void {
    this.samples.push({ atMs, ...state });
    const oldest = this.samples.findIndex((sample) => sample.atMs >= atMs - this.windowMs);
    // One sample from before the window stays: the distance to it is what is measured when samples are rare.
    if (oldest > 1) this.samples = this.samples.slice(oldest - 1);
  }

  /** Things a second, and ms until the whole is done; undefined while too little is known. */
  read(): PaceReading {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    const elapsedMs = first === undefined || last === undefined ? 0 : last.atMs - first.atMs;
    if (first === undefined || last === undefined || elapsedMs <= 0) return nothingKnown;
    const perSecond = ((last.done - first.done) * 1000) / elapsedMs;
    if (last.fraction === undefined) return { perSecond, leftMs: undefined };
    const gained = last.fraction - (first.fraction ?? 0);
    const leftMs = gained <= 0 ? undefined : ((1 - last.fraction) * elapsedMs) / gained;
    return { perSecond, leftMs };
  }
}

const nothingKnown: PaceReading = { perSecond: undefined, leftMs: undefined };
