import { expect } from 'chai';
import { compareWithGolden } from '../../../scripts/cli/golden-check.js';
import { GOLDEN_FILE } from '../../../shared/bundle/bundle-files.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { sampleBundle } from '../../support/sample-bundle.js';

const record = { company_size: 120, demo_requested: 'yes', lead_source: 'web seminar' };

/** Compares the sample bundle with one golden record that expects these contributions. */
async function compared(contributions: Readonly<Record<string, number>> | undefined) {
  const files = sampleBundle();
  files.set(GOLDEN_FILE, Buffer.from(JSON.stringify({ record, contributions })));
  const comparison = await compareWithGolden(checkBundle(files), { nowMs: 0 });
  if (comparison === undefined) throw new Error('the golden record was not read');
  return comparison;
}

describe('golden contributions', () => {
  it('pass when each is within 1e-4, and the largest difference is told', async () => {
    const comparison = await compared({ company_size: 1.20005, demo_requested: 1, lead_source: 0.25 });
    expect(comparison.passed).to.equal(true);
    expect(comparison.largestContributionDifference).to.be.closeTo(5e-5, 1e-6);
  });

  it('fail when one is further off, and the record is named', async () => {
    const comparison = await compared({ company_size: 1.2002, demo_requested: 1 });
    expect(comparison.passed).to.equal(false);
    expect(comparison.differences[0]).to.match(/^record 1: a contribution differs by 0\.000[12]/);
  });

  it('fail for a field that the model does not know, unless nothing is expected of it', async () => {
    expect((await compared({ region: 0.5 })).passed).to.equal(false);
    expect((await compared({ region: 0 })).passed).to.equal(true);
  });

  it('are not compared where the author gave none', async () => {
    expect(await compared(undefined)).to.include({ passed: true, largestContributionDifference: undefined });
  });
});
