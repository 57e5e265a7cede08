import { expect } from 'chai';
import { runsText } from '../../../scripts/bench/candidates/candidate-run.js';
import { type ChangeFigures, promotionText } from '../../../scripts/bench/candidates/promotion.js';

describe('the rows of the benchmark about candidates', () => {
  const change = (kind: ChangeFigures['change'], ratio: number): ChangeFigures => ({
    ...{ change: kind, ratio, action_ms: 20 },
    ...{ p50_ms: { without: 8, with: 8 }, p99_ms: { without: 20, with: 20 * ratio } },
  });

  it('reach the goal of a promotion by the medians of both kinds of change', () => {
    const good = [change('promotion', 1.2), change('promotion', 3), change('promotion', 1.4), change('rollback', 1.5)];
    expect(promotionText(good)).to.include('ratio of at most 1.5, reached').and.to.include('1.40 (1.20-3.00)');
    expect(promotionText([...good, change('rollback', 1.6)])).to.include('not reached');
  });

  it('reach the goal of a run by the medians, where a row scored by two versions counts as two', () => {
    const repeat = { job: 10_000, job_scoring: 12_000, run: 9_100, run_of_two: 9_500 };
    expect(runsText(400_000, [repeat]))
      .to.include('at least 0.9, reached')
      .and.to.include('0.91');
    for (const slow of [{ run: 8_900 }, { run_of_two: 8_900 }])
      expect(runsText(400_000, [{ ...repeat, ...slow }])).to.include('not reached');
  });
});
