/** A slice before it in the file was not reserved, so this one waits for another turn. */
export class SliceDeferred extends Error {
  override name = 'SliceDeferred';
}

/** The ticket of a slice for the reservation: slices are scored at the same time, and reserved in order. */
export interface ReserveTicket {
  /**
   * Waits until the slices before it are reserved.
   * @throws SliceDeferred when one of them was not
   */
  readonly reached: () => Promise<void>;
  /** Gives back the ticket of this slice. @param isReserved false when it holds no records, although it has some */
  readonly end: (isReserved: boolean) => void;
}

/**
 * Reserves slices in the order of the file, although several are scored at once. Where the quota ends, the results then
 * end, too: a later and shorter slice may fit, but its rows would be counted and not shown.
 */
export class ReserveOrder {
  private last: Promise<boolean> = Promise.resolve(true);

  /** The ticket of the next slice. Its `end` must be called. */
  next(): ReserveTicket {
    const before = this.last;
    let end: (isReserved: boolean) => void = () => undefined;
    const own = new Promise<boolean>((resolve) => {
      end = resolve;
    });
    this.last = Promise.all([before, own]).then(([areBefore, isOwn]) => areBefore && isOwn);
    return {
      reached: async () => {
        if (!(await before)) throw new SliceDeferred('a slice before this one was not reserved');
      },
      end,
    };
  }
}
