export interface ProgressState {
  /** Finished items. */
  readonly done: number;
  /** Finished share, 0 to 1; undefined when the total is unknown. */
  readonly fraction: number | undefined;
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
    const perSecond = ((last.done - first.done) * 1000) / elapsedMs;
    if (last.fraction === undefined) return { perSecond, leftMs: undefined };
    const gained = last.fraction - (first.fraction ?? 0);
    const leftMs = gained <= 0 ? undefined : ((1 - last.fraction) * elapsedMs) / gained;
    return { perSecond, leftMs };
  }
}

const unknownPace: PaceReading = { perSecond: undefined, leftMs: undefined };
