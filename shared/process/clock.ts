/** The service's current time. Code that stores or compares dates takes a Clock, so that a rehearsal can move it. */
export interface Clock {
  /** Unix ms. */
  now(): number;
}

/** The machine's clock, moved by CLOCK_OFFSET_MS. */
export const machineClock = (offsetMs = 0): Clock => ({ now: () => Date.now() + offsetMs });

/** The UTC month of an instant, as `YYYY-MM`. */
export const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7);

/** The instant, in Unix ms, at which a month (`YYYY-MM`, UTC) begins. */
export const monthStartMs = (month: string): number => Date.parse(`${month}-01T00:00:00Z`);

/** The instant, in Unix ms, at which the UTC month after that of `atMs` begins: usage resets then. */
export function monthEndMs(atMs: number): number {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
