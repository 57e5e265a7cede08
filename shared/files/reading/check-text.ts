import { isUtf8 } from 'node:buffer';
import { isBinary } from './file-kinds.js';
import { InputFault, positionIn } from './input-fault.js';

/** Bytes around an invalid one that show whether the file is a text. */
const nearBytes = 256;

/**
 * Checks that bytes are UTF-8 without NUL.
 * @param bytes from the start of a line
 * @param options.from position of the bytes that have not been checked
 * @param options.line number of this first line
 * @param options.isEnd whether the file ends with these bytes
 * @returns the position up to which they are checked: less than all if the last character is not complete
 * @throws InputFault that names line and column
 */
export function checkText(
  bytes: Buffer,
  { from, line, isEnd }: { readonly from: number; readonly line: number; readonly isEnd: boolean },
): number {
  const to = isEnd ? bytes.length : wholeCharacters(bytes);
  const unchecked = bytes.subarray(from, Math.max(from, to));
  const nul = unchecked.indexOf(0);
  const isText = isUtf8(unchecked);
  if (isText && nul === -1) return Math.max(from, to);
  const invalid = isText ? unchecked.length : firstInvalid(unchecked);
  const isNul = nul !== -1 && nul < invalid;
  const position = positionIn(bytes, from + (isNul ? nul : invalid), line);
  const where = `line ${position.line}, column ${position.column}`;
  throw new InputFault(
    isNul
      ? `The file contains a NUL character (${where}), so it is perhaps no text. Save it as UTF-8`
      : isBinary(unchecked.toString('latin1', Math.max(0, invalid - nearBytes), invalid + nearBytes))
        ? `The file is no text (${where}). Export it as CSV or JSON Lines in UTF-8`
        : `The file is not UTF-8 (${where}). Save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE`,
    position,
  );
}

/** Bytes of the character that a byte begins; 1 also for bytes that begin none. */
function characterBytes(byte: number): number {
  if (byte < 0xc0) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}

/** The end of the last character that is complete. */
function wholeCharacters(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = bytes[length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    return characterBytes(byte) > back ? length - back : length;
  }
  return length;
}

/** The position of the first character that is not UTF-8, by halving. */
function firstInvalid(bytes: Buffer): number {
  let valid = 0;
  let end = bytes.length;
  while (end - valid > 4) {
    const middle = valid + Math.floor((end - valid) / 2);
    const whole = valid + wholeCharacters(bytes.subarray(valid, middle));
    if (whole > valid && isUtf8(bytes.subarray(valid, whole))) valid = whole;
    else end = middle;
  }
  while (valid < bytes.length) {
    const next = valid + characterBytes(bytes[valid] as number);
    if (next > bytes.length || !isUtf8(bytes.subarray(valid, next))) break;
    valid = next;
  }
  return valid;
}
