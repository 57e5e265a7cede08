import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { buildCommit } from '../../../scripts/bench/pairs/other-commit.js';
import {
  orderIn,
  type Pair,
  pairedFigure,
  quartilesOf,
  type Side,
  verdictOn,
} from '../../../scripts/bench/pairs/pair-figures.js';
import { asksForPairs, type PairRow, readPairOptions, scenarioOf } from '../../../scripts/bench/pairs/pair-options.js';
import { jsonOfPairs, textOfPairs } from '../../../scripts/bench/pairs/pair-report.js';
import { measureRounds } from '../../../scripts/bench/pairs/pair-run.js';
import { UsageError } from '../../../scripts/servers/run-to-end.js';
import { ownSettings } from '../../../scripts/servers/service-process.js';
import { projectFile } from '../../../shared/process/project-root.js';

/** Pairs of the CPU time of all processes. */
const pairsOf = (...values: readonly (readonly [before: number, now: number])[]): Pair[] =>
  values.map(([before, now]) => ({ before: { all: before }, now: { all: now } }));

describe('the figures of pairs', () => {
  it('are the median and the quartiles, interpolated between two values, in any order', () => {
    expect(quartilesOf([5, 1, 4, 2, 3])).to.deep.equal({ lower: 2, median: 3, upper: 4 });
    expect(quartilesOf([4, 1, 3, 2])).to.deep.equal({ lower: 1.75, median: 2.5, upper: 3.25 });
    expect(quartilesOf([7])).to.deep.equal({ lower: 7, median: 7, upper: 7 });
    // As text, 10 would precede 9.
    expect(quartilesOf([9, 10, 100]).median).to.equal(10);
    expect(() => quartilesOf([])).to.throw(RangeError);
  });

  it('are ratios within a pair, which a slower machine in one round does not change', () => {
    const found = pairedFigure(pairsOf([10, 9], [40, 36], [20, 18], [30, 27]), 'all');
    const ratio = { lower: 0.9, median: 0.9, upper: 0.9 };
    expect(found).to.deep.equal({ before: 25, now: 22.5, ratio, pairs: 4, higher: 0, lower: 4 });
    // The medians of the sides are equal, but two of three pairs doubled.
    expect(pairedFigure(pairsOf([1, 2], [2, 4], [4, 1]), 'all')).to.deep.include({ before: 2, now: 2 });
    expect(pairedFigure(pairsOf([1, 2], [2, 4], [4, 1]), 'all')?.ratio.median).to.equal(2);
  });

  it('leave out pairs that lack a figure on one side, or have 0 there', () => {
    const pairs: Pair[] = [...pairsOf([10, 20], [0, 20], [10, 0]), { before: {}, now: { all: 1 } }];
    expect(pairedFigure(pairs, 'all')).to.deep.include({ before: 10, now: 20, pairs: 1 });
    expect(pairedFigure(pairs, 'p99_ms')).to.equal(undefined);
  });

  const verdictOf = (...ratios: readonly number[]) => {
    const found = pairedFigure(pairsOf(...ratios.map((ratio) => [100, 100 * ratio] as const)), 'all');
    return found && verdictOn(found);
  };

  it('name a change of 3 % that nearly all pairs have', () => {
    expect(verdictOf(1.03, 1.03, 1.03, 1.2, 1.04)).to.equal('more');
    expect(verdictOf(0.97, 0.8, 0.96, 0.97, 0.99)).to.equal('less');
    // One of eight coins or none shows heads in 9 of 256 cases, and two or fewer in 37.
    expect(verdictOf(0.9, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05)).to.equal('more');
    expect(verdictOf(0.9, 0.9, 1.05, 1.05, 1.05, 1.05, 1.05, 1.05)).to.equal('unclear');
    expect(verdictOf(1.1, 1.1, 1.1, 1.1), 'four pairs').to.equal('unclear');
  });

  it('call a row unchanged when half of its pairs differ by less than 3 %, and otherwise unclear', () => {
    expect(verdictOf(0.98, 0.99, 1.01, 1.02, 1.0)).to.equal('same');
    expect(verdictOf(1.02, 1.02, 1.02, 1.02, 1.02)).to.equal('same');
    expect(verdictOf(0.9, 0.95, 1.0, 1.05, 1.1)).to.equal('unclear');
    expect(verdictOf(1, 1, 1, 1), 'four pairs').to.equal('unclear');
  });
});

describe('the rounds of pairs', () => {
  it('measure both sides one after the other, in the reversed order in every other round', async () => {
    const done: string[] = [];
    let value = 0;
    const measured = await measureRounds({ rows: ['batch', 'job'], pairs: 3 }, async (row, side, isFirst) => {
      done.push(`${isFirst ? 'first ' : ''}${row} ${side}`);
      value += 1;
      return { all: value };
    });
    expect(done.splice(0, 4)).to.deep.equal([
      ...['first batch before', 'first batch now', 'first job before', 'first job now'],
    ]);
    const forward = ['batch before', 'batch now', 'job before', 'job now'];
    const reversed = ['batch now', 'batch before', 'job now', 'job before'];
    expect(done).to.deep.equal([...forward, ...reversed, ...forward]);
    // The first measurements are left out, and each value belongs to its side.
    expect(measured[0]?.pairs).to.deep.equal(pairsOf([5, 6], [10, 9], [13, 14]));
    expect(measured[1]?.pairs).to.deep.equal(pairsOf([7, 8], [12, 11], [15, 16]));
  });

  it('begin with each side equally often in an even number of rounds', () => {
    const firsts: Side[] = [0, 1, 2, 3].map((round) => orderIn(round)[0]);
    expect(firsts.filter((side) => side === 'now')).to.have.length(2);
  });
});

describe('the report of pairs', () => {
  const outcome = {
    ...{ ref: 'main', commit: '1a2b3c4d' },
    rows: [
      { row: 'batch' as const, pairs: pairsOf([50, 55], [40, 44], [60, 66], [50, 55], [50, 55]) },
      { row: 'job' as const, pairs: pairsOf([100, 100], [100, 100], [99, 99], [100, 100], [100, 100]) },
      { row: 'single' as const, pairs: pairsOf([100, 200]) },
      { row: 'idle' as const, pairs: pairsOf([60, 30]) },
    ],
  };

  it('has the medians, the ratio and its quartiles of each row, and names a change', () => {
    const text = textOfPairs(outcome);
    expect(text).to.include('before: main (1a2b3c4d); now: this working tree');
    expect(text).to.match(/CPU-ms per 1000 records\W+50\.0\W+55\.0\W+x1\.100\W+1\.100-1\.100/);
    expect(text).to.include('batch costs 3 % or more than before (x1.100)');
    expect(text).to.include('job costs as much as before, within 3 % (x1.000)');
    expect(text).to.include('single is unclear');
    expect(text).to.match(/CPU-ms a second\W+60\.0\W+30\.0\W+x0\.500/);
    expect(text).not.to.include('p99');
  });

  it('is one document with --json', () => {
    const { against, commit, rows } = JSON.parse(jsonOfPairs(outcome));
    expect({ against, commit }).to.deep.equal({ against: 'main', commit: '1a2b3c4d' });
    const all = { before: 50, now: 55, ratio: 1.1, lower: 1.1, upper: 1.1, pairs: 5 };
    expect(rows[0]).to.deep.equal({ name: 'batch', figures: { all } });
  });
});

describe('readPairOptions', () => {
  it('reads --against with all rows and eight pairs by default', () => {
    const all: PairRow[] = ['batch', 'single', 'webhook', 'job'];
    const usual = { against: 'HEAD~3', rows: all, pairs: 8, json: false };
    for (const args of [['--against', 'HEAD~3'], ['--against=HEAD~3']]) {
      expect(asksForPairs(args)).to.equal(true);
      expect(readPairOptions(args)).to.deep.equal(usual);
    }
    expect(asksForPairs(['--only', 'bulk', '--rows', '1000'])).to.equal(false);
    expect(readPairOptions(['--against', 'main', '--rows', 'idle'])?.rows, 'only when named').to.deep.equal(['idle']);
  });

  it('reads --rows, --pairs, --json and --help', () => {
    const options = readPairOptions(['--against', 'main', '--rows', 'job,batch', '--pairs', '20', '--json']);
    expect(options).to.deep.equal({ against: 'main', rows: ['batch', 'job'], pairs: 20, json: true });
    expect(readPairOptions(['--against', 'main', '--help'])).to.equal(undefined);
    expect(readPairOptions(['--against', '--help'])).to.equal(undefined);
  });

  it('throws a UsageError for a wrong commit, row, number or option', () => {
    const refused: readonly (readonly [readonly string[], string])[] = [
      [['--against', ''], '--against needs a commit'],
      [['--against=--force'], '--against needs a commit'],
      [['--against', 'main', '--rows', 'batch,floor'], '--rows has no "floor"'],
      [['--against', 'main', '--rows', ''], '--rows has no ""'],
      ...['0', '101', '1.5', 'many'].map(
        (pairs) => [['--against', 'main', '--pairs', pairs], 'from 1 to 100'] as const,
      ),
      [['--against', 'main', '--only', 'single'], '--only'],
    ];
    for (const [args, message] of refused)
      expect(() => readPairOptions(args), args.join(' ')).to.throw(UsageError, message);
  });

  it('takes the load of each row from a usual run', () => {
    expect(scenarioOf.batch).to.deep.include({ shape: 'batch', leads: 'known', load: { callers: 4 } });
    expect(scenarioOf.single).to.deep.include({ shape: 'single', load: { callers: 32 } });
    expect(scenarioOf.webhook).to.deep.include({ shape: 'webhook', load: { callers: 32 } });
  });
});

describe('buildCommit', () => {
  it('throws a UsageError that names a commit which does not exist, before it writes anything', async () => {
    const undone: unknown[] = [];
    const building = buildCommit('no-such-commit', { say: () => undefined, onEnd: (undo) => undone.push(undo) });
    const error = await building.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(UsageError).with.property('message').that.includes('"no-such-commit"');
    expect(undone).to.deep.equal([]);
  });
});

describe('the services of a pair', () => {
  it('take free ports, so that both can run', () => {
    const source = readFileSync(projectFile('shared/config/config.ts'), 'utf8');
    const names = [...source.matchAll(/'(\w*PORT)'/g)].map(([, name = '']) => name);
    expect(names).to.include.members(['PORT', 'CONSOLE_PORT']);
    const settings = ownSettings('pepper');
    for (const name of names) expect(settings[name], name).to.equal('0');
  });
});
