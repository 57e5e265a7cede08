import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { FakeServiceDesk } from '../../../support/http/fake-service.js';
import { type CliResult, callCli, type RunningCli, startCli } from '../cli-call.js';
import { FakeScoreService, fakeScore } from './fake-score-service.js';

/** A temporary folder for input and output files, and a fake service. */
export class ScoreDesk extends FakeServiceDesk {
  readonly service = new FakeScoreService();

  static open(): Promise<ScoreDesk> {
    return new ScoreDesk().enter();
  }

  /** Arguments that score a file. */
  words(name: string, ...more: string[]): string[] {
    const { url } = this.service;
    return ['score', this.file(name), '--model', 'mdl_a', '--key', 'leadscore_sk_secret', '--url', url, ...more];
  }

  /** Runs the command in this process. */
  score(name: string, ...more: string[]): Promise<CliResult> {
    return callCli(this.words(name, ...more));
  }

  /** Runs it as a child process. */
  startScore(name: string, ...more: string[]): RunningCli {
    return startCli(this.words(name, ...more));
  }

  /** Writes a CSV with `count` rows, each with its number in `n` and a crm_id. */
  writeRows(name: string, count: number): Promise<void> {
    return writeFile(this.file(name), csvOf(count));
  }

  /** Rows of a CSV output without the header. */
  async scoredRows(name: string): Promise<string[][]> {
    const text = await this.read(name);
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
