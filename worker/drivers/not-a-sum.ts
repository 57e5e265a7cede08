/** A model that is not a sum of trees or of weighted columns, or not one that can be read; the message says why. */
export class NotASum extends Error {
  override name = 'NotASum';
}
