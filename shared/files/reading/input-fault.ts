/** A position in a file: line and column from 1, the column in characters. */
export interface FilePosition {
  readonly line?: number;
  readonly column?: number;
}

/** A file that cannot be read. Its message is a sentence for people. */
export class InputFault extends Error {
  override name = 'InputFault';
  readonly line?: number;
  readonly column?: number;

  constructor(message: string, position: FilePosition = {}) {
    super(message);
    Object.assign(this, position);
  }
}

/** A fault of the bytes of a file, such as gzip that ends early. The text before it has lines. */
export class BytesFault extends InputFault {
  constructor(
    private readonly problem: string,
    private readonly advice: string,
  ) {
    super(`${problem}. ${advice}`);
  }

  /** This fault with its position. @param position up to which the text was read */
  after(position: Required<FilePosition>): InputFault {
    const { problem, advice } = this;
    return new InputFault(
      `${problem} (read up to line ${position.line}, column ${position.column}). ${advice}`,
      position,
    );
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/**
 * The position of a byte.
 * @param bytes from the start of a line
 * @param firstLine number of this line
 */
export function positionIn(bytes: Uint8Array, at: number, firstLine: number): Required<FilePosition> {
  let line = firstLine;
  let column = 1;
  for (let index = 0; index < at; index += 1) {
    const byte = bytes[index] as number;
    const isLineEnd = byte === lineFeed || (byte === carriageReturn && bytes[index + 1] !== lineFeed);
    if (isLineEnd) line += 1;
    if (isLineEnd) column = 1;
    else if ((byte & 0xc0) !== 0x80) column += 1;
  }
  return { line, column };
}

/** Bytes as people read them. */
export function readableBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB'] as const;
  let unit = 0;
  let amount = bytes;
  for (; amount >= 1024 && amount % 1024 === 0 && unit < units.length - 1; unit += 1) amount /= 1024;
  return `${amount} ${units[unit]}`;
}
