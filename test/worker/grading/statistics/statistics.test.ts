import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { projectFile } from '../../../../shared/process/project-root.js';
import { mergeBands, sumOf } from '../../../../worker/grading/gates/merged-bands.js';
import { cochranArmitage } from '../../../../worker/grading/statistics/cochran-armitage.js';
import { normalUpperTail, poissonLowerTail } from '../../../../worker/grading/statistics/distributions.js';
import { katzLowerBound, wilsonInterval } from '../../../../worker/grading/statistics/intervals.js';
import {
  liftOfRelativeRisk,
  relativeRiskOfLift,
  requiredConversions,
  topBandLift,
} from '../../../../worker/grading/statistics/lift.js';
import { leaveOut } from '../../../support/leave-out.js';

/** Reference values of scipy and statsmodels, from scripts/simulate/statistics_reference.py. */
interface StatisticsReference {
  readonly normalUpperTail: readonly { readonly z: number; readonly p: number }[];
  readonly cochranArmitage: readonly {
    readonly bands: readonly (readonly [records: number, conversions: number])[];
    readonly z: number;
    readonly risingP: number;
    readonly fallingP: number;
  }[];
  readonly wilsonInterval: readonly {
    readonly conversions: number;
    readonly records: number;
    readonly low: number;
    readonly high: number;
  }[];
  readonly topBandLift: readonly {
    readonly top: readonly [conversions: number, records: number];
    readonly rest: readonly [conversions: number, records: number];
    readonly relativeRiskLowerBound: number;
    readonly lift: number;
    readonly lowerBound: number;
  }[];
  readonly poissonLowerTail: readonly { readonly count: number; readonly mean: number; readonly p: number }[];
  readonly requiredConversions: readonly {
    readonly topShare: number;
    readonly expectedLift: number;
    readonly conversions: number;
  }[];
}

const statisticsReferenceFile = (): string => projectFile('test/fixtures/statistics-reference.json');

const statisticsReference = (): StatisticsReference =>
  JSON.parse(readFileSync(statisticsReferenceFile(), 'utf8')) as StatisticsReference;

const reference = statisticsReference();

/** Expects agreement to ten significant digits. */
function expectClose(actual: number, expected: number, name: string): void {
  expect(Math.abs(actual - expected), name).to.be.at.most(1e-10 * Math.abs(expected) + 1e-300);
}

const count = ([conversions, records]: readonly [number, number]) => ({ conversions, records });

const arbitraryBands = fc.array(
  fc.tuple(fc.nat(500), fc.double({ min: 0, max: 1, noNaN: true })).map(([records, share]) => ({
    records,
    conversions: Math.floor(records * share),
  })),
  { minLength: 1, maxLength: 5 },
);

describe('the statistics of validation', () => {
  describe('reference values of scipy and statsmodels', () => {
    it('normalUpperTail equals scipy.stats.norm.sf', () => {
      for (const { z, p } of reference.normalUpperTail) expectClose(normalUpperTail(z), p, `z = ${z}`);
    });

    it('cochranArmitage equals the linear-by-linear test of statsmodels', () => {
      for (const { bands, z, risingP, fallingP } of reference.cochranArmitage) {
        const trend = cochranArmitage(bands.map(([records, conversions]) => ({ records, conversions })));
        expectClose(trend.z, z, `z of ${JSON.stringify(bands)}`);
        expectClose(trend.risingP, risingP, `rising p of ${JSON.stringify(bands)}`);
        expectClose(trend.fallingP, fallingP, `falling p of ${JSON.stringify(bands)}`);
      }
    });

    it('wilsonInterval equals proportion_confint of statsmodels', () => {
      for (const { conversions, records, low, high } of reference.wilsonInterval) {
        const interval = wilsonInterval(conversions, records);
        expect(interval.low).to.be.closeTo(low, 1e-12);
        expect(interval.high).to.be.closeTo(high, 1e-12);
      }
    });

    it('katzLowerBound and topBandLift equal confint_proportions_2indep of statsmodels', () => {
      for (const { top, rest, relativeRiskLowerBound, lift, lowerBound } of reference.topBandLift) {
        const name = JSON.stringify([top, rest]);
        expectClose(katzLowerBound(count(top), count(rest)), relativeRiskLowerBound, name);
        const found = topBandLift(count(top), count(rest));
        expectClose(found.lift, lift, name);
        expectClose(found.lowerBound, lowerBound, name);
      }
    });

    it('poissonLowerTail equals scipy.stats.poisson.cdf', () => {
      for (const { count: events, mean, p } of reference.poissonLowerTail)
        expectClose(poissonLowerTail(events, mean), p, `P(X <= ${events}; ${mean})`);
    });

    it('requiredConversions equals the formula in Python', () => {
      for (const { topShare, expectedLift, conversions } of reference.requiredConversions)
        expect(requiredConversions(topShare, expectedLift), `${topShare} ${expectedLift}`).to.equal(conversions);
    });

    it('statistics_reference.py reproduces the stored reference values', function () {
      this.timeout(60_000);
      const python = [projectFile('.local/statistics/bin/python'), 'python3', 'python'].find(
        (program) => spawnSync(program, ['-c', 'import scipy, statsmodels']).status === 0,
      );
      if (python === undefined)
        return leaveOut(
          this,
          'no Python with scipy and statsmodels was found',
          'pip install scipy statsmodels, for python3 or in an environment at .local/statistics',
        );
      const script = projectFile('scripts/simulate/statistics_reference.py');
      const { status, stdout, stderr } = spawnSync(python, [script], { encoding: 'utf8' });
      expect(status, stderr).to.equal(0);
      expectSameNumbers(JSON.parse(stdout), reference, '');
    });
  });

  describe('edge cases', () => {
    it('cochranArmitage returns z = 0 for no records, no conversions and only conversions', () => {
      for (const bands of [
        [],
        [{ records: 50, conversions: 10 }],
        [0, 0, 0].map(() => ({ records: 0, conversions: 0 })),
        [1, 2, 3].map((n) => ({ records: n, conversions: 0 })),
        [1, 2, 3].map((n) => ({ records: n, conversions: n })),
      ])
        expect(cochranArmitage(bands)).to.deep.equal({ z: 0, risingP: 0.5, fallingP: 0.5 });
    });

    it('relativeRiskOfLift inverts liftOfRelativeRisk', () => {
      fc.assert(
        fc.property(
          fc.double({ min: 0.01, max: 0.99, noNaN: true }),
          fc.double({ min: 0.01, max: 50, noNaN: true }),
          (share, risk) => {
            const lift = liftOfRelativeRisk(risk, share);
            expect(lift).to.be.within(0, 1 / share);
            expect(relativeRiskOfLift(lift, share)).to.be.closeTo(risk, 1e-6 * risk);
          },
        ),
      );
    });

    it('requiredConversions returns 100 for a lift that contradicts the share, or is at most 1', () => {
      for (const [share, lift] of [
        [0, 2],
        [0.5, 2],
        [0.8, 1.4],
        [1, 1],
        [0.2, 1],
        [0.2, 0.7],
      ] as const)
        expect(requiredConversions(share, lift)).to.equal(100);
    });

    it('topBandLift returns lift 0 without conversions', () => {
      const lift = topBandLift({ records: 10, conversions: 0 }, { records: 90, conversions: 0 });
      expect(lift.lift).to.equal(0);
      expect(lift.lowerBound).to.be.within(0, 1);
    });

    it('wilsonInterval contains the rate and stays within 0 and 1', () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 100_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (n, share) => {
          const conversions = Math.floor(n * share);
          const { low, high } = wilsonInterval(conversions, n);
          expect(low).to.be.within(0, conversions / n + 1e-12);
          expect(high).to.be.within(conversions / n - 1e-12, 1);
        }),
      );
      expect(wilsonInterval(0, 0)).to.deep.equal({ low: 0, high: 1 });
    });

    it('poissonLowerTail increases with the count and stays within 0 and 1', () => {
      fc.assert(
        fc.property(fc.nat(2000), fc.double({ min: 0.1, max: 2000, noNaN: true }), (events, mean) => {
          const p = poissonLowerTail(events, mean);
          expect(p).to.be.within(0, 1);
          expect(poissonLowerTail(events + 1, mean)).to.be.at.least(p - 1e-12);
        }),
      );
    });
  });

  describe('mergeBands', () => {
    it('mergeBands keeps bands that are large enough', () => {
      const bands = [40, 50, 60, 70, 80].map((records) => ({ records, conversions: records / 5 }));
      expect(mergeBands(bands).map(({ first, last }) => [first, last])).to.deep.equal([
        [0, 0],
        [1, 1],
        [2, 2],
        [3, 3],
        [4, 4],
      ]);
    });

    it('mergeBands joins the smallest band to its smaller neighbour until each is large enough', () => {
      const records = [100, 12, 30, 200, 9];
      const bands = records.map((each) => ({ records: each, conversions: Math.round(each / 4) }));
      expect(mergeBands(bands).map(({ first, last }) => [first, last])).to.deep.equal([
        [0, 0],
        [1, 2],
        [3, 4],
      ]);
      const rare = [100, 100, 100, 100, 100].map((each) => ({ records: each, conversions: 3 }));
      expect(mergeBands(rare)).to.have.length(2); // 3 expected in one band, 6 in two
    });

    it('mergeBands keeps all records and the order, and returns large enough bands or a single one', () => {
      fc.assert(
        fc.property(arbitraryBands, (bands) => {
          const merged = mergeBands(bands);
          const rate = sumOf(bands, 'conversions') / Math.max(1, sumOf(bands, 'records'));
          expect(sumOf(merged, 'records')).to.equal(sumOf(bands, 'records'));
          expect(sumOf(merged, 'conversions')).to.equal(sumOf(bands, 'conversions'));
          expect(
            merged.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i)),
          ).to.deep.equal(bands.map((_, index) => index));
          if (merged.length > 1)
            for (const band of merged) {
              expect(band.records).to.be.at.least(20);
              expect(band.records * rate).to.be.at.least(5);
            }
        }),
      );
    });
  });
});

/** Compares with a tolerance, because releases of the Python libraries differ in the last digits. */
function expectSameNumbers(actual: unknown, expected: unknown, path: string): void {
  if (typeof expected === 'number') {
    expect(actual, path).to.be.a('number');
    expectClose(Number(actual), expected, path);
    return;
  }
  if (typeof expected !== 'object' || expected === null) throw new Error(`no number at ${path}`);
  expect(Object.keys(Object(actual)), path).to.deep.equal(Object.keys(expected));
  for (const [key, value] of Object.entries(expected))
    expectSameNumbers(Reflect.get(Object(actual), key), value, `${path}/${key}`);
}
