import { rm, stat, truncate } from 'node:fs/promises';
import { type Disk, type GrowingFile, machineDisk } from '../../../../../scripts/cli/score/progress/disk.js';

/** A disk that can take back, as a power cut does, what was written and was not synced. Removals and cuts stay. */
export class LossyDisk implements Disk {
  /** Bytes that a power cut leaves of each changed file. Undefined for a file that it may remove. */
  private readonly safeBytes = new Map<string, number | undefined>();

  async openFile(path: string, from: number): Promise<GrowingFile> {
    const file = await machineDisk.openFile(path, from);
    this.safeBytes.set(path, from);
    return {
      get bytes() {
        return file.bytes;
      },
      write: (text) => file.write(text),
      sync: async () => {
        const { bytes } = file;
        await file.sync();
        this.safeBytes.set(path, bytes);
      },
      close: () => file.close(),
    };
  }

  async append(path: string, text: string): Promise<void> {
    if (!this.safeBytes.has(path)) this.safeBytes.set(path, await sizeOf(path));
    await machineDisk.append(path, text);
  }

  async appendSafely(path: string, text: string): Promise<void> {
    await machineDisk.appendSafely(path, text);
    this.safeBytes.set(path, await sizeOf(path));
  }

  makeFolder(path: string): Promise<void> {
    return machineDisk.makeFolder(path);
  }

  async remove(path: string): Promise<void> {
    await machineDisk.remove(path);
    this.safeBytes.delete(path);
  }

  /** @param random 0 to 1 */
  async cutPower(random: () => number): Promise<void> {
    for (const [path, safe] of this.safeBytes) {
      const size = await sizeOf(path);
      if (size === undefined) continue;
      const kept = (safe ?? 0) + Math.floor(Math.max(0, 2 * random() - 1) * (size - (safe ?? 0) + 1));
      if (safe === undefined && kept === 0) await rm(path);
      else await truncate(path, kept);
    }
  }
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
