import { useEffect, useState } from 'preact/hooks';
import { call, Refusal } from './call.js';
import { unreadable } from './file-head.js';
import { onSessionEnd, sessionIsGone } from './other-tabs.js';

/** Bytes of one request. The server stores them in parts of 1 MiB, and a lost connection costs at most one part. */
const pieceBytes = 8 * 1024 * 1024;
const [firstDelayMs, maxDelayMs] = [1_000, 30_000];

/** How far an upload came. */
export interface UploadProgress {
  /** Bytes that the server has stored. */
  readonly stored: number;
  readonly bytes: number;
  /** `waiting` for another attempt; `stopped` for a person. */
  readonly state: 'sending' | 'waiting' | 'stopped' | 'done';
  /** Why it waits or has stopped. */
  readonly problem?: Error;
}

/** An error after which another attempt could not succeed. */
class Final extends Error {}

/**
 * Sends a file by tus 1.0, piece by piece. After a lost connection it asks how many bytes are stored, and goes on.
 * Each piece is a slice of the file on disk, which the browser reads while it sends it.
 */
class FileUpload {
  progress: UploadProgress;
  readonly listeners = new Set<(progress: UploadProgress) => void>();
  private readonly stopping = new AbortController();

  constructor(
    private readonly path: string,
    private readonly file: File,
  ) {
    this.progress = { stored: 0, bytes: file.size, state: 'sending' };
  }

  stop(): void {
    this.stopping.abort();
  }

  async run(): Promise<void> {
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    try {
      await this.send();
      this.tell({ state: 'done', stored: this.file.size });
    } catch (error) {
      if (!this.stopping.signal.aborted) this.tell({ state: 'stopped', problem: error as Error });
    } finally {
      removeEventListener('beforeunload', warn);
    }
  }

  private async send(): Promise<void> {
    let failures = 0;
    let stored: number | undefined;
    while (stored !== this.file.size) {
      try {
        stored = stored === undefined ? await this.storedBytes() : await this.sendPiece(stored);
        failures = 0;
        this.tell({ state: 'sending', stored });
      } catch (error) {
        this.stopping.signal.throwIfAborted();
        const problem = await this.recoverable(error);
        failures += 1;
        this.tell({ state: 'waiting', problem });
        await this.pause(delayMs(error, failures));
        // Another call may have stored bytes.
        stored = undefined;
      }
    }
  }

  /** The number of bytes that are stored. */
  private async storedBytes(): Promise<number> {
    return offsetOf(await this.fetch('HEAD', {}));
  }

  private async sendPiece(from: number): Promise<number> {
    const body = this.file.slice(from, from + pieceBytes);
    const type = 'application/offset+octet-stream';
    const length = String(this.file.size);
    return offsetOf(
      await this.fetch('PATCH', { 'Content-Type': type, 'Upload-Offset': String(from), 'Upload-Length': length }, body),
    );
  }

  private async fetch(method: string, headers: Readonly<Record<string, string>>, body?: Blob): Promise<Response> {
    const reply = await fetch(`/admin/v1${this.path}/input`, {
      ...{ method, credentials: 'same-origin', signal: this.stopping.signal },
      headers: { 'Tus-Resumable': '1.0.0', ...headers },
      ...(body !== undefined && { body }),
    });
    if (reply.ok) return reply;
    const { code = 'unknown', message, request_id } = (await reply.json().catch(() => ({}))).error ?? {};
    const text = message ?? `The console answered with status ${reply.status}.`;
    throw Object.assign(new Refusal(reply.status, code, text, request_id), {
      retryAfter: Number(reply.headers.get('retry-after') ?? 0),
    });
  }

  /** The problem of an attempt that can be repeated. @throws the problem if it cannot */
  private async recoverable(error: unknown): Promise<Error> {
    if (error instanceof Final) throw error;
    if (!(error instanceof Refusal)) {
      // A browser gives the same error for a lost connection and for a file that has changed on disk.
      const probe = this.file.slice(this.file.size - 1);
      await probe.arrayBuffer().catch(() => {
        throw unreadable(this.file);
      });
      return new Error('The console does not answer.');
    }
    if (error.status === 401) sessionIsGone();
    if (error.status === 409) await this.requireAwaiting(error);
    else if (error.status < 500 && error.status !== 429) throw error;
    return error;
  }

  /** @throws the refusal if the job takes no bytes any more */
  private async requireAwaiting(refusal: Refusal): Promise<void> {
    const job = await call<{ readonly state: string }>('GET', this.path).catch(() => undefined);
    if (job !== undefined && job.state !== 'awaiting_upload') throw refusal;
  }

  private tell(change: Partial<UploadProgress>): void {
    const { problem: _, ...before } = this.progress;
    this.progress = { ...before, ...change };
    for (const listener of this.listeners) listener(this.progress);
  }

  /** Ends early when the network is back. */
  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = new AbortController();
      const done = (): void => {
        clearTimeout(timer);
        end.abort();
        resolve();
      };
      const timer = setTimeout(done, ms);
      addEventListener('online', done, { signal: end.signal });
      this.stopping.signal.addEventListener('abort', done, { signal: end.signal });
    });
  }
}

/** @throws Final for a reply without the header, which no console sends */
function offsetOf(reply: Response): number {
  const text = reply.headers.get('upload-offset');
  if (text === null) throw new Final('A proxy before the console removes the header Upload-Offset. Let it pass.');
  return Number(text);
}

function delayMs(error: unknown, failures: number): number {
  const asked = error instanceof Refusal && 'retryAfter' in error ? 1_000 * Number(error.retryAfter) : 0;
  return Math.max(asked, Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs));
}

/** The uploads of this tab by the addresses of their jobs. They go on while other pages are open. */
const uploads = new Map<string, FileUpload>();

/** Begins or continues the upload of the file of a job. @param path of the job in the API */
export function startUpload(path: string, file: File): void {
  if (uploads.size === 0) onSessionEnd(stopUploads);
  uploads.get(path)?.stop();
  const upload = new FileUpload(path, file);
  uploads.set(path, upload);
  void upload.run();
}

/** Ends the upload of a job. The bytes that are stored stay. */
function stopUpload(path: string): void {
  uploads.get(path)?.stop();
  uploads.delete(path);
}

/** The next person at this browser must not go on with them. */
function stopUploads(): void {
  for (const path of [...uploads.keys()]) stopUpload(path);
}

/** How far the upload of a job came in this tab; undefined without one. */
export function useUpload(path: string): UploadProgress | undefined {
  const upload = uploads.get(path);
  const [, setProgress] = useState<UploadProgress>();
  useEffect(() => {
    upload?.listeners.add(setProgress);
    return () => void upload?.listeners.delete(setProgress);
  }, [upload]);
  return upload?.progress;
}
