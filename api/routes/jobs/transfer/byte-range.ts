/** A part of a file: from the first byte to before the end. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const form = /^bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i;
const maxDigits = 15;

/**
 * Reads a Range header for a file of a known length (RFC 9110, 14.1.2). One range is served; a list of ranges, another
 * unit and an invalid range are ignored, as the RFC allows.
 * @returns undefined for the whole file; `beyond` if no byte of the file is in the range
 */
export function byteRange(header: string, length: number): ByteRange | 'beyond' | undefined {
  const match = form.exec(header);
  const [, first = '', last = ''] = match ?? [];
  if (match === null || (first === '' && last === '')) return undefined;
  if (first === '') {
    const size = numberOf(last);
    return size === 0 || length === 0 ? 'beyond' : { start: Math.max(0, length - size), end: length };
  }
  const start = numberOf(first);
  if (last !== '' && numberOf(last) < start) return undefined;
  if (start >= length) return 'beyond';
  return { start, end: last === '' ? length : Math.min(length, numberOf(last) + 1) };
}

/** Longer numbers are larger than any file. */
const numberOf = (digits: string): number =>
  digits.replace(/^0+/, '').length > maxDigits ? Number.MAX_SAFE_INTEGER : Number(digits);
