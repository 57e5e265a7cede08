import { expect } from 'chai';
import { goldenFile } from '../../../shared/bundle/bundle-files.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { runBundle } from '../../../worker/bundle-checks/golden-check.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

const record = { company_size: 120, demo_requested: 'yes', lead_source: 'web seminar' };

/** Checks the sample bundle against one golden record with these contributions. */
async function compared(contributions: Readonly<Record<string, number>> | null | undefined) {
  const files = sampleBundle();
  files.set(goldenFile, Buffer.from(JSON.stringify({ record, contributions })));
  const { golden } = await runBundle(checkBundle(files), { nowMs: 0 });
  if (golden === undefined) throw new Error('the golden record was not read');
  return golden;
}

describe('contributions of golden records', () => {
  it('pass when each contribution is within 1e-4, and the result has the largest difference', async () => {
    const comparison = await compared({ company_size: 1.20005, demo_requested: 1, lead_source: 0.25 });
    expect(comparison.passed).to.equal(true);
    expect(comparison.maxContributionDifference).to.be.closeTo(5e-5, 1e-6);
  });

  it('fail when a contribution differs by more than 1e-4, and the result names the record', async () => {
    const comparison = await compared({ company_size: 1.2002, demo_requested: 1 });
    expect(comparison.passed).to.equal(false);
    expect(comparison.differences[0]).to.match(/^record 1: the contribution of "company_size" differs by 0\.000[12]/);
  });

  it('fail for a field unknown to the model, unless its expected contribution is 0', async () => {
    expect((await compared({ region: 0.5 })).passed).to.equal(false);
    expect((await compared({ region: 0 })).passed).to.equal(true);
  });

  it('are not compared when the golden record has none', async () => {
    for (const none of [undefined, null])
      expect(await compared(none)).to.include({ passed: true, maxContributionDifference: undefined });
  });
});
