import { TextDecoder } from 'node:util';
import { refuseOtherKinds, refuseOtherTexts } from './file-kinds.js';
import { type FilePosition, InputFault } from './input-fault.js';

/** The form of the text of a file. Known with its first piece. */
export interface TextForm {
  hasMark: boolean;
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
}

export const utf8Mark = [0xef, 0xbb, 0xbf] as const;

const begins = (bytes: Uint8Array, mark: readonly number[]): boolean => mark.every((byte, at) => bytes[at] === byte);

/**
 * Converts the pieces of a file to UTF-8 without byte order mark, whose validity they do not check. UTF-16 is found by
 * its mark, or by the zero bytes of its first characters. A Ctrl-Z at the end is left out: programs of DOS write it.
 * @param form receives the form
 * @throws InputFault for files that are no text, HTML and broken UTF-16
 */
export async function* utf8Pieces(pieces: AsyncIterable<Buffer>, form: TextForm): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of convertedPieces(pieces, form)) {
    const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
    const end = endOfText(bytes);
    held = bytes.subarray(end);
    if (end > 0) yield bytes.subarray(0, end);
  }
}

const [controlZ, lineFeed, carriageReturn] = [0x1a, 0x0a, 0x0d];
/** Some programs fill the last block of 128 bytes. */
const maxAfterText = 1024;

/** The position of the Ctrl-Z after which only others and line ends follow; the length without one. */
function endOfText(bytes: Uint8Array): number {
  let end = bytes.length;
  for (let at = end - 1; at >= Math.max(0, bytes.length - maxAfterText); at -= 1) {
    const byte = bytes[at];
    if (byte === controlZ) end = at;
    else if (byte !== lineFeed && byte !== carriageReturn) break;
  }
  return end;
}

async function* convertedPieces(pieces: AsyncIterable<Buffer>, form: TextForm): AsyncGenerator<Buffer> {
  let decoder: Utf16Decoder | undefined;
  let isFirst = true;
  for await (const piece of pieces) {
    let bytes = piece;
    if (isFirst) {
      refuseOtherKinds(bytes);
      Object.assign(form, formOf(bytes));
      if (form.encoding !== 'utf-8') decoder = new Utf16Decoder(form.encoding);
      if (form.hasMark) bytes = bytes.subarray(decoder === undefined ? utf8Mark.length : 2);
    }
    const text = decoder === undefined ? bytes : decoder.convert(bytes);
    if (isFirst) refuseOtherTexts(text);
    isFirst = false;
    yield text;
  }
  if (decoder !== undefined) yield decoder.end();
}

function formOf(bytes: Uint8Array): TextForm {
  if (begins(bytes, utf8Mark)) return { hasMark: true, encoding: 'utf-8' };
  if (begins(bytes, [0xff, 0xfe])) return { hasMark: true, encoding: 'utf-16le' };
  if (begins(bytes, [0xfe, 0xff])) return { hasMark: true, encoding: 'utf-16be' };
  const isZero = [0, 1, 2, 3].map((at) => bytes[at] === 0);
  const [first, second, third, fourth] = isZero;
  if (bytes.length >= 4 && second && fourth && !first && !third) return { hasMark: false, encoding: 'utf-16le' };
  if (bytes.length >= 4 && first && third && !second && !fourth) return { hasMark: false, encoding: 'utf-16be' };
  return { hasMark: false, encoding: 'utf-8' };
}

class Utf16Decoder {
  private readonly strict: TextDecoder;
  private position = { line: 1, column: 1 };

  constructor(private readonly encoding: 'utf-16le' | 'utf-16be') {
    this.strict = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  }

  convert(bytes: Uint8Array): Buffer {
    let text: string;
    try {
      text = this.strict.decode(bytes, { stream: true });
    } catch {
      const lenient = new TextDecoder(this.encoding, { ignoreBOM: true }).decode(bytes);
      const before = lenient.slice(0, Math.max(0, lenient.indexOf('\uFFFD')));
      throw broken(positionAfter(before, this.position));
    }
    this.position = positionAfter(text, this.position);
    return Buffer.from(text);
  }

  end(): Buffer {
    try {
      return Buffer.from(this.strict.decode());
    } catch {
      throw broken(this.position);
    }
  }
}

const broken = (position: Required<FilePosition>): InputFault =>
  new InputFault(
    `The file is not UTF-16 throughout (line ${position.line}, column ${position.column}). Save it as UTF-8`,
    position,
  );

/** The position after a text. @param from the position of its first character */
function positionAfter(text: string, { line, column }: Required<FilePosition>): Required<FilePosition> {
  let count = 0;
  let start = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', start)) {
    count += 1;
    start = at + 1;
  }
  return { line: line + count, column: (count === 0 ? column : 1) + [...text.slice(start)].length };
}
