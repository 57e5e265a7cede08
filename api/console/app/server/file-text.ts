import { beginsAsGzip } from './file-head.js';

/** Reads the text of a file from its begin on, as UTF-8. It holds a few MiB of any file. */
export class FileText {
  private held = new Uint8Array(0);
  private isOver = false;

  private constructor(private readonly reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>) {}

  /**
   * Opens a file, which may be compressed with gzip.
   * @param encoding as the server has found it
   */
  static async open(file: File, encoding: string): Promise<FileText> {
    const bytes = (await beginsAsGzip(file))
      ? file.stream().pipeThrough(new DecompressionStream('gzip'))
      : file.stream();
    if (encoding === 'utf-8') return new FileText(bytes.getReader());
    const text = bytes.pipeThrough(new TextDecoderStream(encoding, { fatal: true }));
    return new FileText(text.pipeThrough(new TextEncoderStream()).getReader());
  }

  /**
   * The next bytes of the text. They stay the next ones until `pass`.
   * @throws Error when the file cannot be read
   */
  async next(most: number): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly goesOn: boolean }> {
    const pieces = [this.held];
    let length = this.held.length;
    while (!this.isOver && length <= most) {
      const { value } = await this.reader.read().catch(() => {
        throw new Error('The file cannot be read to its end. Save or unpack it again, and choose it again.');
      });
      this.isOver = value === undefined;
      if (value !== undefined) pieces.push(value);
      length += value?.length ?? 0;
    }
    if (pieces.length > 1) this.held = new Uint8Array(await new Blob(pieces).arrayBuffer());
    return { bytes: this.held.subarray(0, most), goesOn: length > most };
  }

  pass(bytes: number): void {
    this.held = this.held.slice(bytes);
  }

  close(): void {
    this.reader.cancel().catch(() => undefined);
  }
}
