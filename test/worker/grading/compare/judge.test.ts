import { expect } from 'chai';
import { type Evidence, type Judged, judge, judgedAfter } from '../../../../worker/grading/compare/judge.js';

type Figures = NonNullable<Evidence['figures']>;

/** A comparison whose lift differs by `lift` ± `error`, and whose AUC differs by `auc` ± 0.01. */
const figures = (lift: number, error: number, auc = 0): Figures => ({
  lift: {
    base: { value: 2, error },
    candidate: { value: 2 + lift, error },
    difference: { value: lift, error },
  },
  auc: {
    base: { value: 0.7, error: 0.01 },
    candidate: { value: 0.7 + auc, error: 0.01 },
    difference: { value: auc, error: 0.01 },
  },
});
const evidence = (of: Figures | undefined, changed: Partial<Evidence> = {}): Evidence => ({
  ...{ leads: 1_000, conversions: 100, missingFields: [] },
  figures: of,
  ...changed,
});
const verdict = (...of: Parameters<typeof evidence>): string => judge(evidence(...of));

describe('judge', () => {
  it('is better only beyond two and a half errors, and not with a lower AUC', () => {
    expect(verdict(figures(0.26, 0.1))).to.equal('better');
    expect(verdict(figures(0.24, 0.1))).to.equal('no_worse');
    expect(verdict(figures(0.24, 0.2))).to.equal('too_early');
    expect(verdict(figures(0.26, 0.1, -0.024))).to.equal('better');
    expect(verdict(figures(0.26, 0.1, -0.026))).to.equal('no_worse');
  });

  it('is worse only beyond two and a half errors', () => {
    expect(verdict(figures(-0.26, 0.1))).to.equal('worse');
    expect(verdict(figures(-0.24, 0.1))).to.equal('too_early');
  });

  it('is no worse above a tenth of the lift of the current version', () => {
    expect(verdict(figures(0, 0.079))).to.equal('no_worse');
    expect(verdict(figures(0, 0.081))).to.equal('too_early');
    expect(verdict(figures(0, 0)), 'the current version itself').to.equal('no_worse');
  });

  it('is too early with fields that were not recorded, unless the candidate is better', () => {
    const missing = { missingFields: ['industry'] };
    for (const lift of [0, -1]) expect(verdict(figures(lift, 0.01), missing), `lift ${lift}`).to.equal('too_early');
    expect(verdict(figures(1, 0.1), missing)).to.equal('better');
  });
});

describe('judgedAfter', () => {
  const look = (conversions: number, lift: number, before?: Judged): Judged =>
    judgedAfter(evidence(figures(lift, 0.01), { conversions }), before);

  it('judges again with 20 % more conversions than at the last judgement', () => {
    const first = look(50, 0);
    expect(first).to.deep.equal({ verdict: 'no_worse', conversions: 50 });
    expect(look(59, 1, first)).to.deep.equal(first);
    expect(look(60, 1, first)).to.deep.equal({ verdict: 'better', conversions: 60 });
    expect(look(60, 0, first), 'a judgement counts without a change').to.deep.equal({
      verdict: 'no_worse',
      conversions: 60,
    });
    expect(look(40, -1, first), 'corrected outcomes').to.deep.equal(first);
  });

  it('is too early with too few leads, whatever it was before', () => {
    const few = evidence(undefined, { conversions: 29 });
    const early = { verdict: 'too_early', conversions: null };
    expect(judgedAfter(few, undefined)).to.deep.equal(early);
    expect(judgedAfter(few, { verdict: 'better', conversions: 100 })).to.deep.equal(early);
    expect(look(30, 1, { verdict: 'too_early', conversions: null }).verdict).to.equal('better');
  });
});
