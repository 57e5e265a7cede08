import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unwritable } from '../../context/cli-error.js';
import type { StoredLead } from './stored-leads.js';

/** A readable file costs an operator who was careless a leak, so only this process can reach it. */
const ownerOnly = 0o600;

/**
 * Leads as JSON Lines in a file without a name: it vanishes with this process, however that ends. It is read once all
 * leads are in it.
 */
export class RowsFile {
  private constructor(
    private readonly file: FileHandle,
    private readonly folder: string,
  ) {}

  /** @throws CliError when the folder of temporary files cannot be written */
  static async open(): Promise<RowsFile> {
    const path = join(tmpdir(), 'leadscore-train-');
    try {
      const folder = await mkdtemp(path);
      try {
        return new RowsFile(await open(join(folder, 'leads.jsonl'), 'wx+', ownerOnly), folder);
      } finally {
        await rm(folder, { recursive: true });
      }
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  async add(leads: readonly StoredLead[]): Promise<void> {
    const lines = leads.map((lead) => `${JSON.stringify(lead)}\n`).join('');
    await this.file.appendFile(lines).catch((error: unknown) => {
      throw unwritable(this.folder, error);
    });
  }

  /** All leads from the first on. */
  bytes(): AsyncIterable<Buffer> {
    return this.file.createReadStream({ start: 0, autoClose: false });
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}
