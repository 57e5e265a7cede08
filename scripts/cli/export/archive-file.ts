import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import { unwritable } from '../context/cli-error.js';

/** A member of the archive, as its list of members describes it. */
interface Member {
  readonly file: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
  /** Lines of a JSON Lines member. */
  readonly lines?: number;
}

/** A tar archive names the size of a member before its bytes, so a member is held in memory. */
const maxMemberBytes = 8 * 1024 * 1024;

/** Writes a .tar.gz whose last member, `members.json`, lists the others. The file appears when it is complete. */
export class ArchiveFile {
  private readonly archive: Pack = pack();
  private readonly part: string;
  private readonly written: Promise<unknown>;
  private readonly failed: Promise<never>;
  private readonly members: Member[] = [];

  constructor(
    private readonly path: string,
    private readonly at: Date,
  ) {
    this.part = `${path}.part`;
    this.written = pipeline(this.archive, createGzip(), createWriteStream(this.part, { mode: 0o600 }));
    this.failed = this.written.then(() => new Promise<never>(() => undefined));
    this.failed.catch(() => undefined);
  }

  /**
   * Adds a member.
   * @throws CliError when the file cannot be written
   */
  async add(file: string, bytes: Buffer, lines?: number): Promise<void> {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await this.orUnwritable(
      new Promise<void>((resolve, reject) => {
        const header = { name: file, size: bytes.length, mtime: this.at };
        this.archive.entry(header, bytes, (error) => (error == null ? resolve() : reject(error)));
      }),
    );
    this.members.push({ file, bytes: bytes.length, sha256, ...(lines === undefined ? {} : { lines }) });
  }

  /** Adds JSON Lines as `<name>-00001.jsonl` and so on. Without a line there is no member. */
  lines(name: string): JsonLines {
    return new JsonLines((bytes, number, lines) =>
      this.add(`${name}-${String(number).padStart(5, '0')}.jsonl`, bytes, lines),
    );
  }

  /**
   * Completes the file.
   * @param about members of `members.json` before the list
   * @throws CliError when the file cannot be written
   */
  async finish(about: object): Promise<void> {
    const listed = { ...about, members: [...this.members] };
    await this.add('members.json', Buffer.from(`${JSON.stringify(listed, undefined, 2)}\n`));
    this.archive.finalize();
    await this.orUnwritable(this.written);
    await this.orUnwritable(rename(this.part, this.path));
  }

  /** Removes what was written. */
  async discard(): Promise<void> {
    this.archive.destroy();
    await this.written.catch(() => undefined);
    await rm(this.part, { force: true });
  }

  /** A full disk ends the pipeline, and the members that wait for it never end. */
  private async orUnwritable<Result>(work: Promise<Result>): Promise<Result> {
    return await Promise.race([work, this.failed]).catch(async (error: unknown) => {
      // A member may fail first, because its stream was closed. The pipeline knows why.
      this.archive.destroy();
      throw unwritable(
        this.path,
        await this.written.then(
          () => error,
          (cause: unknown) => cause,
        ),
      );
    });
  }
}

/** JSON documents, a line each, in members of a limited size. */
export class JsonLines {
  private texts: string[] = [];
  private bytes = 0;
  private number = 0;
  private count = 0;

  constructor(private readonly write: (bytes: Buffer, number: number, lines: number) => Promise<void>) {}

  /** Documents so far. */
  get documents(): number {
    return this.count;
  }

  async add(document: object): Promise<void> {
    const text = `${JSON.stringify(document)}\n`;
    const bytes = Buffer.byteLength(text);
    // A document above the limit is a member of its own.
    if (this.texts.length > 0 && this.bytes + bytes > maxMemberBytes) await this.flush();
    this.texts.push(text);
    this.bytes += bytes;
    this.count += 1;
  }

  /** Writes what is left. */
  async flush(): Promise<void> {
    if (this.texts.length === 0) return;
    const [texts, lines] = [this.texts, this.texts.length];
    this.texts = [];
    this.bytes = 0;
    this.number += 1;
    await this.write(Buffer.from(texts.join('')), this.number, lines);
  }
}
