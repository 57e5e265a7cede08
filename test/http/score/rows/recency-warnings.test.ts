import { expect } from 'chai';
import { scored } from '../../../support/http/score-reply.js';
import { sampleAnswer } from '../../../support/models/sample-answer.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';

const lead = { company_size: 120 };
const dayMs = 24 * 60 * 60 * 1000;

describe('recency warnings of POST /v1/score', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    const recency = { field: 'last_activity', max_age_days: 90, future_tolerance_days: 1 };
    own = await workspace(service, { bundle: sampleBundle({ manifest: { recency } }) });
  });

  const daysAgo = (days: number): string => new Date(service.clock.now() - days * dayMs).toISOString();

  it('warns only of dates that are too old or in the future, without changing scores', async () => {
    const dates = [daysAgo(89.9), daysAgo(90.1), daysAgo(400), daysAgo(-0.9), daysAgo(-1.1), 'yesterday', null];
    const { scores } = scored(await own.score(dates.map((last_activity) => ({ ...lead, last_activity }))));
    expect(scores.map((row) => row.warnings?.length)).to.deep.equal([
      undefined,
      1,
      1,
      undefined,
      1,
      undefined,
      undefined,
    ]);
    for (const row of scores) expect(row).to.include({ ...sampleAnswer(lead), enriched: false });
    expect(scores[1]?.warnings?.[0]).to.match(/^last_activity is 91 days old; .* at most 90 days/);
    expect(scores[4]?.warnings?.[0]).to.match(/^last_activity is 2 days in the future; /);
  });

  it('warns of the stored date when no date is sent', async () => {
    await own.score([{ ...lead, last_activity: daysAgo(100), crm_id: 'L-1' }]);
    const { scores } = scored(await own.score([{ crm_id: 'L-1' }, { crm_id: 'L-1', last_activity: daysAgo(2) }]));
    expect(scores.map((row) => row.warnings?.length)).to.deep.equal([1, undefined]);
  });

  it('returns no warnings for a model without a recency guard', async () => {
    const plain = await workspace(service);
    const { scores } = scored(await plain.score([{ ...lead, last_activity: daysAgo(400) }]));
    expect(scores).to.deep.equal([{ ...sampleAnswer(lead), enriched: false }]);
  });
});
