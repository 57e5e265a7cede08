import { expect } from 'chai';
import fc from 'fast-check';
import type { Calibration } from '../../../shared/bundle/manifest/manifest.js';
import { compileLikelihood } from '../../../worker/models/likelihood.js';

const likelihoods = (calibration: Calibration, raws: readonly number[]) => raws.map(compileLikelihood({ calibration }));

describe('the conversion likelihood', () => {
  it('is the raw probability in ten-thousandths, half up, within 0 and 1', () => {
    const raws = [0, 0.00005, 0.123449, 0.5, 0.99996, 1, 1.0000001, -1e-9];
    expect(likelihoods({ kind: 'identity' }, raws)).to.deep.equal([0, 1, 1234, 5000, 10_000, 10_000, 10_000, 0]);
  });

  it('applies Platt scaling to the logit, kept within 1e-7 of 0 and 1', () => {
    expect(likelihoods({ kind: 'platt', a: 1, b: 0 }, [0.25, 0.75])).to.deep.equal([2500, 7500]);
    expect(likelihoods({ kind: 'platt', a: 2, b: Math.log(2) }, [0.75])).to.deep.equal([Math.round(180_000 / 19)]);
    const atEdge = Math.round(10_000 / (1 + Math.exp(0.1 * Math.log((1 - 1e-7) / 1e-7))));
    expect(likelihoods({ kind: 'platt', a: 0.1, b: 0 }, [0, 1])).to.deep.equal([atEdge, 10_000 - atEdge]);
  });

  it('interpolates isotonic points and stays at the ends', () => {
    const calibration: Calibration = { kind: 'isotonic', x: [0.1, 0.2, 0.2, 0.6], y: [0.05, 0.1, 0.3, 0.7] };
    const raws = [0, 0.1, 0.15, 0.2, 0.4, 0.6, 0.9];
    expect(likelihoods(calibration, raws)).to.deep.equal([500, 500, 750, 3000, 5000, 7000, 7000]);
    expect(likelihoods({ kind: 'isotonic', x: [0.5], y: [0.4] }, [0.1, 0.5, 0.9])).to.deep.equal([4000, 4000, 4000]);
  });

  it('never falls when raw rises, under any calibration that never falls', () => {
    const ascending = fc
      .array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 4, maxLength: 4 })
      .map((values) => values.sort((left, right) => left - right));
    const calibration: fc.Arbitrary<Calibration> = fc.oneof(
      fc.constant({ kind: 'identity' } as const),
      fc.record({
        kind: fc.constant('platt' as const),
        a: fc.double({ min: 0, max: 5, noNaN: true }),
        b: fc.integer({ min: -3, max: 3 }),
      }),
      fc.record({ kind: fc.constant('isotonic' as const), x: ascending, y: ascending }),
    );
    fc.assert(
      fc.property(calibration, ascending, (kind, raws) => {
        const served = likelihoods(kind, raws);
        for (const [index, likelihood] of served.entries()) {
          expect(Number.isInteger(likelihood) && likelihood >= 0 && likelihood <= 10_000).to.equal(true);
          expect(likelihood).to.be.at.least(served[index - 1] ?? 0);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is NaN for NaN', () => {
    const kinds: readonly Calibration[] = [
      { kind: 'identity' },
      { kind: 'platt', a: 1, b: 0 },
      { kind: 'isotonic', x: [0, 1], y: [0, 1] },
    ];
    for (const calibration of kinds) expect(likelihoods(calibration, [Number.NaN])[0]).to.be.NaN;
  });
});
