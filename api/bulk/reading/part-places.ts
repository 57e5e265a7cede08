import type { UploadRange } from '../../../shared/store/jobs/job-documents.js';
import type { PartPlace } from '../../../shared/store/jobs/job-uploads.js';

/** Finds the parts of an upload that have the rows of a slice, while it is read. It holds those of the open slices. */
export class PartPlaces {
  private places: PartPlace[] = [];

  /** Adds the part that is read next. */
  add(place: PartPlace): void {
    this.places.push(place);
  }

  /**
   * The range of bytes that were read.
   * @param from not before that of the range before
   */
  rangeOf({ from, to }: Pick<UploadRange, 'from' | 'to'>): UploadRange {
    const first = this.places.findIndex(({ offset, length }) => offset + length > from);
    this.places.splice(0, first);
    const next = this.places.findIndex(({ offset }) => offset >= to);
    const [begins, ends] = [this.places[0], this.places.at(next === -1 ? -1 : next - 1)];
    if (begins === undefined || ends === undefined || ends.offset + ends.length < to)
      throw new Error(`the parts of the upload lack bytes from ${from} to ${to}`);
    return { from, to, first_part: begins.number, last_part: ends.number };
  }
}
