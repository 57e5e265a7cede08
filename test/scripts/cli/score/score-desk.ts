import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type CliResult, type RunningCli, runCliProcess, startCli } from '../cli-call.js';
import { FakeScoreService, fakeScore } from './fake-score-service.js';

/** A temporary folder for input and output files, and a fake service. */
export class ScoreDesk {
  private constructor(
    private readonly directory: string,
    readonly service: FakeScoreService,
  ) {}

  static async open(): Promise<ScoreDesk> {
    const service = new FakeScoreService();
    await service.start();
    return new ScoreDesk(await mkdtemp(join(tmpdir(), 'leadscore-score-')), service);
  }

  async leave(): Promise<void> {
    await this.service.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  files(): Promise<string[]> {
    return readdir(this.directory);
  }

  /** Arguments that score a file. */
  words(name: string, ...more: string[]): string[] {
    const { url } = this.service;
    return ['score', this.file(name), '--model', 'mdl_a', '--key', 'leadscore_sk_secret', '--url', url, ...more];
  }

  score(name: string, ...more: string[]): Promise<CliResult> {
    return runCliProcess(this.words(name, ...more));
  }

  startScore(name: string, ...more: string[]): RunningCli {
    return startCli(this.words(name, ...more));
  }

  /** Writes a CSV with `count` rows, each with its number in `n` and a crm_id. */
  writeRows(name: string, count: number): Promise<void> {
    return writeFile(this.file(name), csvOf(count));
  }

  /** Rows of a CSV output without the header. */
  async scoredRows(name: string): Promise<string[][]> {
    const text = await readFile(this.file(name), 'utf8');
    const lines = text.trimEnd().split('\n').slice(1);
    return lines.map((line) => line.split(','));
  }

  /** Asserts that the output has every row of `writeRows` once, in order, with its score. */
  async expectAllRows(name: string, count: number): Promise<void> {
    const rows = await this.scoredRows(name);
    expect(rows.map(([, crmId]) => crmId)).to.deep.equal(numbers(count).map((n) => `crm-${n}`));
    expect(rows.map(([, , scored]) => Number(scored))).to.deep.equal(numbers(count).map(fakeScore));
  }
}

/** The CSV text of `writeRows`. */
export const csvOf = (count: number): string =>
  `n,crm_id\n${numbers(count)
    .map((n) => `${n},crm-${n}\n`)
    .join('')}`;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
