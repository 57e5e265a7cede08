import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { crmIdOf, ResultCheck, writeBulkFile } from '../../../scripts/bench/bulk/bulk-file.js';

describe('the bulk row of the benchmark', () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-bulk-file-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('writes a CSV of 20 columns with a crm_id for each row', async () => {
    const path = join(directory, 'leads.csv');
    const bytes = await writeBulkFile(path, 12_345);
    const text = await readFile(path, 'utf8');
    expect(Buffer.byteLength(text)).to.equal(bytes);
    const lines = text.trimEnd().split('\r\n');
    expect(lines).to.have.length(12_346);
    expect(lines[0]?.split(',')).to.have.length(20);
    expect(lines[12_345]).to.match(new RegExp(`^${crmIdOf(12_344)},`));
  });

  it('accepts results with a score for each row, in pieces of any size', () => {
    const text = `crm_id,a,score,conversion_likelihood,enriched\n${[0, 1, 2].map((row) => `${crmIdOf(row)},x,70,0.25,true,,\n`).join('')}`;
    for (const size of [1, 7, 1_000]) {
      const check = new ResultCheck();
      for (let from = 0; from < text.length; from += size) check.take(text.slice(from, from + size));
      check.end(3);
      expect(() => check.end(4)).to.throw('have 3 rows instead of 4');
    }
  });

  it('refuses results in another order, or with a row without a score', () => {
    const check = (lines: readonly string[]) => () => new ResultCheck().take(`header\n${lines.join('\n')}\n`);
    expect(check([`${crmIdOf(1)},x,70,0.25,true,`])).to.throw('row 0 is');
    expect(check([`${crmIdOf(0)},x,,,,`])).to.throw('row 0 has no score');
  });
});
