import { writeFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { scoreFile } from '../../../../../scripts/cli/score/score-file.js';
import { csvOf, ScoreDesk } from '../score-desk.js';

describe('the progress of leadscore score on an edited file', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
  });

  afterEach(() => desk.leave());

  /** Scores `leads.csv.gz`, and returns the shares that the progress bar shows. */
  async function shares(): Promise<number[]> {
    const seen: number[] = [];
    await scoreFile({
      path: desk.file('leads.csv.gz'),
      output: { path: desk.file('leads.scored.csv'), stream: new PassThrough(), restart: false },
      modelId: 'mdl_a',
      apiKey: 'k',
      baseUrl: desk.service.url,
      crmIdField: undefined,
      explain: false,
      onlyScores: true,
      concurrency: 1,
      signal: new AbortController().signal,
      listener: {
        started: () => undefined,
        progress: ({ fraction = -1 }) => void seen.push(fraction),
        waiting: () => undefined,
      },
      replaced: { limits: { records: 1_000, bytes: 1_000_000 } },
    }).catch(() => undefined);
    return seen;
  }

  it('is the share of the new file, also of a gzipped one', async () => {
    const csv = csvOf(10_000)
      .replace('crm_id', 'crm_id,pad')
      .replace(/(?<=\d)\n/g, `,${'x'.repeat(90)}\n`);
    const write = (text: string) => writeFile(desk.file('leads.csv.gz'), gzipSync(text));
    await write(csv);
    desk.service.answering = ({ number }) => (number === 2 ? { status: 402, code: 'expired_read_only' } : undefined);
    await shares();
    await write(csv.replace('\n1,', '\n1.5,'));
    desk.service.answering = () => undefined;
    const seen = await shares();
    expect(seen).to.have.length(10);
    expect(seen.at(-1)).to.equal(1);
    expect(seen.slice(0, 8).every((share) => share < 1)).to.equal(true);
    expect(desk.service.used).to.equal(10_001);
  });
});
