/** Bytes at the beginning of a file that the server compares with a model. As base64 they fit into one request. */
const headBytes = 96 * 1024;
const sampleBytes = 64 * 1024;

/** The beginning of a chosen file, and its mark. The file itself is never in memory. */
export interface FileHead {
  /** Base64, inflated if the file is gzip. */
  readonly head: string;
  readonly isWhole: boolean;
  /** Bytes of the head, and those of the file if it is not gzip. */
  readonly headBytes: number;
  readonly plainBytes: number | undefined;
  /** SHA-256 of its length, its name, its time and samples of its content, in hex. */
  readonly fingerprint: string;
}

/**
 * Reads the beginning of a file.
 * @throws Error that says that the file cannot be read
 */
export async function readFileHead(file: File): Promise<FileHead> {
  try {
    const isGzip = await beginsAsGzip(file);
    const inflated = isGzip ? await inflatedHead(file) : undefined;
    // The server names a file that is compressed twice, if it gets the file as it is.
    const isTwice = inflated !== undefined && (await beginsAsGzip(new Blob([inflated.bytes])));
    const { bytes, isAll } = inflated === undefined || isTwice ? await plainHead(file) : inflated;
    const head = bytes.subarray(0, headBytes);
    return {
      head: await base64Of(head),
      isWhole: isAll && bytes.length <= headBytes,
      headBytes: head.length,
      plainBytes: isGzip ? undefined : file.size,
      fingerprint: await fingerprintOf(file),
    };
  } catch {
    throw unreadable(file);
  }
}

export const unreadable = ({ name }: File): Error =>
  new Error(`The browser cannot read ${name}: it was changed, moved or removed, or it is a folder. Choose it again.`);

/** Whether the first bytes of a file are those of gzip. */
export async function beginsAsGzip(file: Blob): Promise<boolean> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return first === 0x1f && second === 0x8b;
}

/** One byte more than the head, if the file has so many. */
interface HeadBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether nothing follows, if the bytes are no more than the head. */
  readonly isAll: boolean;
}

const plainHead = async (file: File): Promise<HeadBytes> => ({
  bytes: new Uint8Array(await file.slice(0, headBytes + 1).arrayBuffer()),
  isAll: true,
});

/** A damaged file yields what was read before the damage, and one of several members the first of them. */
async function inflatedHead(file: File): Promise<HeadBytes> {
  const inflated = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  let isAll = true;
  while (length <= headBytes) {
    const next = await inflated.read().catch(() => undefined);
    isAll = next !== undefined;
    if (next === undefined || next.done) break;
    parts.push(next.value);
    length += next.value.length;
  }
  inflated.cancel().catch(() => undefined);
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer()).slice(0, headBytes + 1);
  return { bytes, isAll };
}

async function base64Of(bytes: Uint8Array): Promise<string> {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}

/** The content alone would take minutes to hash. A file that was changed has another time. */
async function fingerprintOf(file: File): Promise<string> {
  const { size, lastModified, name } = file;
  const starts = [0, Math.floor(size / 2), Math.max(0, size - sampleBytes)];
  const samples = starts.map((start) => file.slice(start, start + sampleBytes));
  const marked = await new Blob([`${size} ${lastModified} ${name}\n`, ...samples]).arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', marked));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
