import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { CliError } from '../../../../../scripts/cli/context/cli-error.js';
import { machineDisk } from '../../../../../scripts/cli/score/progress/disk.js';
import type { RunReport } from '../../../../../scripts/cli/score/run-report.js';
import { scoreFile } from '../../../../../scripts/cli/score/score-file.js';
import { CsvRows } from '../../../../../shared/files/csv-rows.js';
import { CountingService, type Fate, reasonOf, scoreOf } from './counting-service.js';
import { KillSwitch } from './kill-switch.js';
import { LossyDisk } from './lossy-disk.js';

/** A row of the file. `note` is a column without a name, which is not sent. An empty row has no member. */
interface FileRow {
  readonly crm_id?: string;
  readonly v?: string;
  readonly note?: string;
}

const kinds = [
  { input: 'leads.csv', output: 'out.csv', onlyScores: false },
  { input: 'leads.csv', output: 'out.csv', onlyScores: true },
  { input: 'leads.csv', output: 'out.jsonl', onlyScores: false },
  { input: 'leads.jsonl', output: 'out.jsonl', onlyScores: false },
] as const;

/** Random numbers of a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One file that is edited between runs, some of which are killed, stopped or refused. */
class Story {
  readonly service = new CountingService();
  private readonly random: () => number;
  private readonly kind: (typeof kinds)[number];
  private rows: FileRow[] = [];
  private header = 'crm_id,v,';
  private next = 0;
  /** The most equal rows that any version of the file had, by what is sent. */
  private readonly most = new Map<string, number>();

  constructor(
    private readonly directory: string,
    seed: number,
  ) {
    this.random = randomOf(seed);
    this.kind = kinds[this.below(kinds.length)] ?? kinds[0];
  }

  async play(): Promise<void> {
    this.rows = Array.from({ length: 4 + this.below(30) }, () => this.newRow());
    // A run stops when no row of its first batch can be scored.
    this.rows.unshift({ v: 'first', crm_id: 'first' });
    for (let run = this.below(7); run > 0; run -= 1) {
      await this.write();
      await this.runWithFaults();
      // The run was complete, or was killed after that.
      if (this.service.counted.size > 0 && !(await this.hasProgress())) return this.check();
      this.edit();
    }
    await this.write();
    for (;;) {
      const report = await this.run(
        new KillSwitch(Number.POSITIVE_INFINITY, this.random, machineDisk),
        new AbortController(),
      );
      if (report === 'killed') throw new Error('a run without a switch was killed');
      expect(report.complete).to.equal(true);
      await this.check();
      this.checkFigures(report);
      if (report.figures.refused === 0 || this.below(3) === 0) return;
      this.rows = this.rows.map((row) => (reasonOf(row) === undefined ? row : { ...row, v: this.newValue() }));
      await this.write();
    }
  }

  private below(max: number): number {
    return Math.floor(max * this.random());
  }

  private newValue(): string {
    this.next += 1;
    return `${this.next}"\n,`.slice(0, 1 + this.below(6));
  }

  private newRow(): FileRow {
    const kind = this.below(10);
    if (kind === 0) return {};
    if (kind === 1) return { crm_id: `id-${this.below(9)}` };
    if (kind === 2) return { v: `bad${this.below(3)}`, note: 'n' };
    if (kind === 3) return { v: 'same' };
    return { crm_id: `=id ${this.below(99)}`, v: this.newValue(), ...(kind > 7 ? { note: `n${this.below(3)}` } : {}) };
  }

  private edit(): void {
    for (let edits = this.below(4); edits > 0; edits -= 1) {
      const at = 1 + this.below(this.rows.length);
      const kind = this.below(5);
      const row = this.rows[at];
      if (kind === 0) this.rows.splice(at, 1 + this.below(3));
      if (kind === 1) this.rows.splice(at, 0, this.newRow(), this.newRow());
      if (kind === 2 && row !== undefined) this.rows[at] = { ...row, v: this.newValue() };
      if (kind === 3 && row !== undefined) this.rows[at] = { ...row, note: `changed ${this.below(9)}` };
      if (kind === 4) this.header = this.header === 'crm_id,v,' ? 'crm_id,v,,' : 'crm_id,v,';
    }
  }

  private async write(): Promise<void> {
    const isCsv = this.kind.input === 'leads.csv';
    const cell = (text = ''): string => `"${text.replaceAll('"', '""')}"`;
    const lines = this.rows.map((row) =>
      isCsv ? [row.crm_id, row.v, row.note].map(cell).join(',') : textOf(row).replace(/^\{\}$/, ''),
    );
    await writeFile(
      join(this.directory, this.kind.input),
      `${[...(isCsv ? [this.header] : []), ...lines].join('\n')}\n`,
    );
    const equal = new Map<string, number>();
    for (const row of this.rows) equal.set(textOf(row), (equal.get(textOf(row)) ?? 0) + 1);
    for (const [text, count] of equal) this.most.set(text, Math.max(count, this.most.get(text) ?? 0));
  }

  private async runWithFaults(): Promise<void> {
    // Most steps of a resumption are among the first sixteen.
    const killAt = [Number.POSITIVE_INFINITY, 1 + this.below(16), 1 + this.below(90)][this.below(3)] ?? 1;
    const disk = new LossyDisk();
    const kill = new KillSwitch(killAt, this.random, disk);
    const stop = new AbortController();
    const fates: Fate[] = ['lost before', 'lost after', 'internal error', 'key refused', 'refused'];
    const faults = this.below(3) * 0.08;
    this.service.fateOf = () => {
      if (this.random() < 0.02) stop.abort();
      return this.random() < faults ? (fates[this.below(fates.length)] ?? 'scored') : 'scored';
    };
    try {
      const ended = await this.run(kill, stop);
      if (ended === 'killed' && this.below(2) === 0) await disk.cutPower(this.random);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
    } finally {
      this.service.fateOf = () => 'scored';
    }
  }

  private async run(kill: KillSwitch, stop: AbortController): Promise<RunReport | 'killed'> {
    const { input, output, onlyScores } = this.kind;
    const path = join(this.directory, output);
    const ended = scoreFile({
      path: join(this.directory, input),
      output: { path, stream: new PassThrough(), restart: false },
      modelId: 'mdl_a',
      apiKey: 'k',
      baseUrl: 'http://x',
      crmIdField: undefined,
      explain: false,
      onlyScores,
      concurrency: 1 + this.below(4),
      signal: stop.signal,
      listener: { started: () => undefined, progress: () => undefined, waiting: () => undefined },
      replaced: {
        disk: kill.disk,
        connect: () => this.service.connections(kill),
        limits: { records: 3, bytes: 400 },
        wait: async () => undefined,
      },
    });
    ended.catch(() => undefined);
    try {
      return await Promise.race([ended, kill.killed]);
    } finally {
      await kill.clean();
    }
  }

  /** The output has each row once, in order, with its score or a reason; and no row was counted more than once. */
  private async check(): Promise<void> {
    const full = this.rows.filter((row) => this.isFull(row));
    const expected = full.map((row) => {
      const error = reasonOf(sent(row));
      return { crmId: row.crm_id ?? '', score: error === undefined ? String(scoreOf(row)) : '', error: error ?? '' };
    });
    const lines = (of: readonly object[]): string => of.map((each) => JSON.stringify(each)).join('\n');
    const written = lines(await this.written());
    expect(written === lines(expected), `${written}\n\ninstead of\n${lines(expected)}`).to.equal(true);
    const inFile = new Map<string, number>();
    for (const row of full) inFile.set(textOf(row), (inFile.get(textOf(row)) ?? 0) + 1);
    for (const [text, count] of this.service.counted) expect(count, text).to.be.at.most(this.most.get(text) ?? 0);
    for (const row of full)
      if (reasonOf(sent(row)) === undefined)
        expect(this.service.counted.get(textOf(row)), textOf(row)).to.be.at.least(inFile.get(textOf(row)) ?? 0);
  }

  private checkFigures({ figures }: RunReport): void {
    const full = this.rows.filter((row) => this.isFull(row));
    const refused = full.filter((row) => reasonOf(sent(row)) !== undefined).length;
    const { records, withCrmId, emptyRows } = figures;
    expect({ records, refused: figures.refused, withCrmId }).to.deep.equal({
      records: full.length - refused,
      refused,
      withCrmId: full.filter((row) => reasonOf(sent(row)) === undefined && row.crm_id !== undefined).length,
    });
    expect(emptyRows).to.equal(this.kind.input === 'leads.csv' ? this.rows.length - full.length : 0);
  }

  private async hasProgress(): Promise<boolean> {
    const files = await readdir(join(this.directory, `${this.kind.output}.resume`)).catch((): string[] => []);
    return files.includes('journal.jsonl');
  }

  /** A row of a CSV with only a note is not empty. */
  private isFull(row: FileRow): boolean {
    return textOf(row) !== '{}' || (this.kind.input === 'leads.csv' && row.note !== undefined);
  }

  private async written(): Promise<{ crmId: string; score: string; error: string }[]> {
    const text = await readFile(join(this.directory, this.kind.output), 'utf8');
    if (this.kind.output === 'out.jsonl')
      return text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ crm_id = '', score = '', error = '' }) => ({ crmId: crm_id, score: String(score), error }));
    const rows = new CsvRows(text, { delimiter: ',', maxCells: 99, firstLine: 1 });
    rows.next();
    const names = [...rows.cells];
    const cellOf = (name: string): string => rows.cells[names.indexOf(name)] ?? '';
    const written = [];
    while (rows.next())
      written.push({ crmId: cellOf('crm_id').replace(/^'/, ''), score: cellOf('score'), error: cellOf('error') });
    return written;
  }
}

const sent = ({ crm_id, v }: { readonly crm_id?: string | undefined; readonly v?: string | undefined }) => ({
  ...(v === undefined ? {} : { v }),
  ...(crm_id === undefined ? {} : { crm_id }),
});

const textOf = (row: FileRow): string => JSON.stringify(sent(row));

describe('leadscore score, killed, after power cuts and with edited files', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-crashes-'));
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('counts no row twice and writes every row once, in order', async function () {
    this.timeout(180_000);
    const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const own = await mkdtemp(join(directory, 'story-'));
        await new Story(own, seed).play();
      }),
      { numRuns: 60, endOnFailure: true },
    );
  });
});
