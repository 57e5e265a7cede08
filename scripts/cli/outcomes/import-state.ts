import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { InputFile } from '../score/input-file.js';
import type { MistakeGroup } from './mistakes.js';

/** What was found in the rows that are done. */
export interface ImportFigures {
  readonly accepted: number;
  readonly converted: number;
  readonly refused: number;
  /** What is wrong with the refused rows. */
  readonly mistakes: readonly MistakeGroup[];
}

/** How far an import has come: kept beside the file until it is complete. */
interface ImportState {
  readonly format: 2;
  /** What was imported where: an import of anything else begins anew. */
  readonly of: ImportIdentity;
  /** Rows that are done, from the first. */
  readonly rows: number;
  readonly figures: ImportFigures;
}

interface ImportIdentity {
  readonly organisation: string;
  readonly bytes: number;
  readonly modified_at: string;
  readonly columns: readonly (string | null)[];
}

const nothingImported: ImportFigures = { accepted: 0, converted: 0, refused: 0, mistakes: [] };

/** Keeps how far an import has come, in a file beside the one that is imported; without, where that cannot be written. */
export class ImportProgressFile {
  private readonly path: string;
  private readonly identity: ImportIdentity;
  private isWritable = true;

  constructor(input: InputFile, of: Pick<ImportIdentity, 'organisation' | 'columns'>) {
    this.path = `${input.path}.import.json`;
    this.identity = { ...of, bytes: input.bytes, modified_at: input.modifiedAt.toISOString() };
  }

  /** Rows that an earlier run of the very same import has done, and what it found; nothing when there was none. */
  async read(): Promise<{ readonly rows: number; readonly figures: ImportFigures }> {
    try {
      const state = JSON.parse(await readFile(this.path, 'utf8')) as Partial<ImportState>;
      const isSame = state.format === 2 && JSON.stringify(state.of) === JSON.stringify(this.identity);
      if (isSame && state.rows !== undefined && state.figures !== undefined)
        return { rows: state.rows, figures: state.figures };
    } catch {
      // No file, or none that can be used: all rows may be imported again without harm.
    }
    return { rows: 0, figures: nothingImported };
  }

  /** Takes down that so many rows are done. */
  async write(rows: number, figures: ImportFigures): Promise<void> {
    if (!this.isWritable) return;
    const state: ImportState = { format: 2, of: this.identity, rows, figures };
    try {
      await writeFile(`${this.path}.part`, `${JSON.stringify(state)}\n`);
      await rename(`${this.path}.part`, this.path);
    } catch {
      this.isWritable = false;
    }
  }

  /** Removes what an import that is complete has left. */
  async remove(): Promise<void> {
    if (this.isWritable) await rm(this.path, { force: true }).catch(() => undefined);
  }
}
