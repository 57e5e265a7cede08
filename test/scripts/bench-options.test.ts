import { expect } from 'chai';
import { readBenchOptions } from '../../scripts/bench/bench-options.js';
import { scenarios } from '../../scripts/bench/scenarios.js';
import { separateRowNames } from '../../scripts/bench/separate-rows.js';
import { UsageError } from '../../scripts/servers/run-to-end.js';

describe('readBenchOptions', () => {
  const only = (...names: string[]) => readBenchOptions(names.flatMap((name) => ['--only', name]))?.only;

  it('accepts the name of every row and the id of every scenario for --only', () => {
    for (const { row, id } of scenarios) for (const name of [row, id]) expect(only(name)).to.include(name);
    const names = ['bulk', 'candidate', 'console', 'promotion', 'fleet', 'grading', 'idle'];
    expect(separateRowNames).to.include.members(names);
    expect(only(...separateRowNames)).to.deep.equal(separateRowNames);
  });

  it('throws a UsageError for an unknown row and for a separate row beside others', () => {
    for (const names of [['grading', 'floor'], ['floor', 'grading'], ['grading', 'no-such-row'], ['no-such-row']])
      expect(() => only(...names), names.join()).to.throw(UsageError, /there is no row/);
  });

  it('selects all rows by default and reads --json, --minutes and --help', () => {
    expect(only()).to.deep.equal([]);
    expect(readBenchOptions(['--json', '--only', 'grading'])).to.include({ json: true, repeats: 3 });
    expect(readBenchOptions(['--only', 'sustained-batch', '--minutes', '5'])).to.include({ minutes: 5 });
    expect(() => readBenchOptions(['--minutes', 'five'])).to.throw(UsageError, '--minutes must be');
    expect(readBenchOptions(['--help'])).to.equal(undefined);
  });
});
