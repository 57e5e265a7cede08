import { expect } from 'chai';
import type { Figures } from '../../../scripts/bench/load/messages.js';
import type { BenchRow } from '../../../scripts/bench/report/figures.js';
import { goalsText, measuredGoals } from '../../../scripts/bench/report/goals.js';
import { bareRow, comparedRow, floorRow, mainScenario, singleOpenRow } from '../../../scripts/bench/scenarios.js';

/** A row with one window. */
function rowOf(name: string, callers: number, { cpuMs = 0, calls = 0, p50Ms = 0, p99Ms = 0 }): BenchRow {
  const figures = {
    ...{ records_per_s: calls, p50_ms: p50Ms, p99_ms: p99Ms, cpu_ms_per_1000: { total: cpuMs } },
  } as Partial<Figures> as Figures;
  const report = { figures } as Partial<BenchRow['reports'][number]> as BenchRow['reports'][number];
  return { name, load: { callers }, reports: [report] };
}

const rows = [
  rowOf(floorRow, 1, { cpuMs: 10 }),
  rowOf(mainScenario.row, 1, { cpuMs: 99 }),
  rowOf(mainScenario.row, 4, { cpuMs: 36 }),
  rowOf(comparedRow, 32, { calls: 2_000, p99Ms: 22 }),
  rowOf(bareRow, 32, { calls: 2_000, p99Ms: 20 }),
  rowOf(singleOpenRow, 1, { p50Ms: 7, p99Ms: 21 }),
];

describe('the goals of a bench', () => {
  it('are reached at their limit, and missed beyond it', () => {
    expect(measuredGoals(rows).map(({ measured, goal, reached }) => [measured, goal, reached])).to.deep.equal([
      [3.6, 'at most 3.5', false],
      [1, 'at least 1', true],
      [1.1, 'at most 1.1', true],
      [7, 'at most 8', true],
      [21, 'at most 20', false],
    ]);
  });

  it('are left out when a row of theirs was not measured', () => {
    expect(measuredGoals(rows.slice(0, 4)).map(({ measured }) => measured)).to.deep.equal([3.6]);
    expect(measuredGoals([])).to.deep.equal([]);
    expect(goalsText(rows.slice(0, 1))).to.equal(undefined);
  });

  it('are printed with what was measured', () => {
    expect(goalsText(rows)?.replaceAll(/ +/g, ' ')).to.include(
      'batch-1000 of 4 callers, in floors 3.60 at most 3.5 not reached',
    );
  });
});
