import { readFile, writeFile } from 'node:fs/promises';
import { projectFile } from '../../shared/process/project-root.js';

/** Duration of a test file with its hooks, and the processor time of its process and of all that it started. */
export interface Took {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Measured by `npm test -- --times`. Each line has seconds, seconds of processor time, and the path of a test file. */
const tableFile = 'test/test-times.txt';
const ofNewFile: Took = { ms: 3_000, cpuMs: 3_000 };

/** How long each test file takes. */
export class FileTimes {
  constructor(private readonly byFile: ReadonlyMap<string, Took>) {}

  static async read(): Promise<FileTimes> {
    return FileTimes.parse(await readFile(projectFile(tableFile), 'utf8').catch(() => ''));
  }

  static parse(table: string): FileTimes {
    const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
    return new FileTimes(
      new Map(
        rows.flatMap(([seconds, cpuSeconds, file]) =>
          file ? [[file, { ms: Number(seconds) * 1_000, cpuMs: Number(cpuSeconds) * 1_000 }]] : [],
        ),
      ),
    );
  }

  /** Seconds of processor time, with hooks; a guess for a file that was not measured. */
  secondsOf(file: string): number {
    return this.of(file).cpuMs / 1_000;
  }

  /** The same in seconds that pass. */
  durationOf(file: string): number {
    return this.of(file).ms / 1_000;
  }

  private of(file: string): Took {
    return this.byFile.get(sourceOf(file)) ?? ofNewFile;
  }

  /**
   * The table after a run: new times of the files that ran, and the earlier times of all others that still exist.
   * @param files all test files
   * @param measured by file of the run
   */
  after(files: readonly string[], measured: ReadonlyMap<string, Took>): string {
    const rows = files.flatMap((file) => {
      const took = measured.get(file) ?? this.byFile.get(sourceOf(file));
      return took === undefined ? [] : [{ file: sourceOf(file), ...took }];
    });
    rows.sort((one, other) => other.ms - one.ms);
    const column = (ms: number) => (ms / 1_000).toFixed(1).padStart(6);
    return rows.map(({ file, ms, cpuMs }) => `${column(ms)} ${column(cpuMs)} ${file}\n`).join('');
  }

  /** Writes the table, and returns its path. */
  async write(files: readonly string[], measured: ReadonlyMap<string, Took>): Promise<string> {
    await writeFile(projectFile(tableFile), this.after(files, measured));
    return tableFile;
  }
}

const sourceOf = (file: string): string => file.replace(/^dist\//, '').replace(/\.js$/, '.ts');
