import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';

/** A complete line of a file. */
export interface FileLine {
  readonly text: string;
  /** Its first byte. */
  readonly offset: number;
  /** The byte after its line end. */
  readonly end: number;
}

/** Reads the complete lines of a file. A line without an end was cut by a crash and is left out. */
export async function* fileLines(path: string): AsyncGenerator<FileLine> {
  let rest: Buffer[] = [];
  let offset = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    let bytes: Buffer = chunk;
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10)) {
      const line = Buffer.concat([...rest, bytes.subarray(0, at)]);
      const end = offset + line.length + 1;
      yield { text: line.toString('utf8'), offset, end };
      offset = end;
      rest = [];
      bytes = bytes.subarray(at + 1);
    }
    if (bytes.length > 0) rest.push(bytes);
  }
}

const windowBytes = 256 * 1024;

/** Reads parts of a file. Neighbouring lines are read at once. */
export class FileParts {
  private window: Buffer = Buffer.alloc(0);
  private windowStart = 0;

  constructor(readonly path: string) {}

  /** The complete line that begins at `offset`. */
  async line(offset: number): Promise<string> {
    for (let bytes = windowBytes; ; bytes *= 4) {
      const from = offset - this.windowStart;
      const isInside = from >= 0 && from < this.window.length;
      const end = isInside ? this.window.indexOf(10, from) : -1;
      if (end !== -1) return this.window.toString('utf8', from, end);
      const before = this.windowStart === offset ? this.window.length : -1;
      this.window = await this.bytes(offset, offset + bytes);
      this.windowStart = offset;
      if (this.window.length === before) throw new Error(`${this.path} has no line at byte ${offset}`);
    }
  }

  /** The bytes from `from` to before `to`, or to the end of the file. */
  async bytes(from: number, to: number): Promise<Buffer> {
    const file = await open(this.path, 'r');
    try {
      const buffer = Buffer.allocUnsafe(to - from);
      let length = 0;
      for (;;) {
        const { bytesRead } = await file.read(buffer, length, buffer.length - length, from + length);
        length += bytesRead;
        if (bytesRead === 0 || length === buffer.length) return buffer.subarray(0, length);
      }
    } finally {
      await file.close();
    }
  }
}
