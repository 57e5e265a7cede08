import { expect } from 'chai';
import { dayMs } from '../../../shared/contract/dates.js';
import { daysAgoText, figureText, liftText, rateTexts, shareText } from '../../../shared/contract/figures.js';

describe('the text of a figure', () => {
  it('has, for a lift, one decimal, or more where one would reach or cross the required lift or 1', () => {
    for (const [lift, text] of [
      [2.094_12, '2.1x'],
      [2.049_9, '2.0x'],
      [1.2, '1.2x'],
      [1.19, '1.19x'],
      [1.204, '1.204x'],
      [1.000_4, '1.0004x'],
      [0.98, '0.98x'],
      [12, '12.0x'],
    ] as const)
      expect(liftText(lift), String(lift)).to.equal(text);
  });

  it('is the same before and after it is stored with six digits', () => {
    for (const lift of [2.049_999_99, 2.15, 1.199_999_99])
      expect(liftText(Number(lift.toPrecision(6)))).to.equal(liftText(lift));
    expect(figureText(124.999_999_9)).to.equal(figureText(125)).and.equal('125');
  });

  it('has, for a probability, three digits, or more where three would reach or cross the required value', () => {
    expect(figureText(0.049_971_2, 0.05)).to.equal('0.04997');
    expect(figureText(0.049_971_2)).to.equal('0.0500');
    expect(figureText(1_440.25)).to.equal('1,440');
  });

  it('is rounded down, for a share, to a tenth of a per cent, and has no decimals for a whole one', () => {
    expect([0.9496, 0.95, 0.992, 0.99995, 1, 0].map(shareText)).to.deep.equal([
      '94.9 %',
      '95 %',
      '99.2 %',
      '99.9 %',
      '100 %',
      '0 %',
    ]);
  });

  it('has, for rates, more decimals where all of them are low', () => {
    expect(rateTexts(0.4)(0.1234)).to.equal('12.3');
    expect(rateTexts(0.004)(0.001_234)).to.equal('0.12');
    expect(rateTexts(0)(0)).to.equal('0.0000');
  });
});

describe('daysAgoText', () => {
  it('counts whole days, also of the future', () => {
    const nowMs = Date.UTC(2026, 10, 28, 12);
    const texts = [0.9, 1, 40.1, -0.9, -1, -3].map((days) => daysAgoText(nowMs - days * dayMs, nowMs));
    expect(texts).to.deep.equal(['today', '1 day ago', '40 days ago', 'today', 'in 1 day', 'in 3 days']);
  });
});
