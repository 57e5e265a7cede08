import type { Disk, GrowingFile } from '../../../../../scripts/cli/score/progress/disk.js';

/**
 * Ends a run in this process as SIGKILL would. From one step on, no change of a file and no call has an effect or an
 * end. The step itself may be done in part.
 */
export class KillSwitch {
  readonly killed: Promise<'killed'>;
  isKilled = false;
  private steps = 0;
  private busy = 0;
  private readonly files = new Set<GrowingFile>();
  private readonly idle: (() => void)[] = [];
  private onKilled: (() => void) | undefined;

  /**
   * @param killAt number of the step
   * @param random 0 to 1: how much of that step is done
   * @param inner the disk that the run changes
   */
  constructor(
    private readonly killAt: number,
    private readonly random: () => number,
    private readonly inner: Disk,
  ) {
    this.killed = new Promise((resolve) => {
      this.onKilled = () => resolve('killed');
    });
  }

  /** Does a step, or the part of it that is done before the end. */
  async step<Result>(whole: () => Promise<Result>, part: (share: number) => Promise<unknown>): Promise<Result> {
    if (this.isKilled) return await new Promise<never>(() => undefined);
    this.steps += 1;
    const isLast = this.steps === this.killAt;
    if (isLast) this.isKilled = true;
    this.busy += 1;
    let result: Result | undefined;
    try {
      if (isLast) await part(this.random());
      else result = await whole();
    } finally {
      this.busy -= 1;
      if (this.busy === 0) for (const resolve of this.idle.splice(0)) resolve();
    }
    if (isLast) this.onKilled?.();
    // A step that another one has overtaken may be done, but the run does not learn of it.
    if (this.isKilled) return await new Promise<never>(() => undefined);
    return result as Result;
  }

  /** Waits for steps that had begun, and closes the files of the run. */
  async clean(): Promise<void> {
    if (this.busy > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
    for (const file of this.files) await file.close();
  }

  readonly disk: Disk = {
    openFile: (path, from) =>
      this.step(
        async () => this.growing(await this.inner.openFile(path, from)),
        async (share) => {
          if (share > 0.5) await (await this.inner.openFile(path, from)).close();
        },
      ),
    append: (path, text) =>
      this.step(
        () => this.inner.append(path, text),
        (share) => this.inner.append(path, cut(text, share)),
      ),
    appendSafely: (path, text) =>
      this.step(
        () => this.inner.appendSafely(path, text),
        (share) => this.inner.append(path, cut(text, share)),
      ),
    makeFolder: (path) =>
      this.step(
        () => this.inner.makeFolder(path),
        () => this.inner.makeFolder(path),
      ),
    remove: (path) =>
      this.step(
        () => this.inner.remove(path),
        async (share) => (share > 0.5 ? this.inner.remove(path) : undefined),
      ),
  };

  private growing(file: GrowingFile): GrowingFile {
    this.files.add(file);
    return {
      get bytes() {
        return file.bytes;
      },
      write: (text) =>
        this.step(
          () => file.write(text),
          (share) => file.write(cut(text, share)),
        ),
      sync: () =>
        this.step(
          () => file.sync(),
          async (share) => (share > 0.5 ? file.sync() : undefined),
        ),
      close: () => {
        this.files.delete(file);
        return file.close();
      },
    };
  }
}

const cut = (text: string, share: number): string => text.slice(0, Math.ceil(share * text.length));
