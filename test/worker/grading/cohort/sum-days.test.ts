import { expect } from 'chai';
import { dayMs } from '../../../../shared/contract/dates.js';
import type { StoredDay } from '../../../../shared/store/validation/validation-daily.js';
import { gradedDays, sumDays } from '../../../../worker/grading/cohort/sum-days.js';

const horizonDays = 90;
/** Noon of the day on which predictions of day 1,000 mature. */
const asOfMs = (1_000 + horizonDays) * dayMs + dayMs / 2;
const bands = (conversions: number): StoredDay['bands'] =>
  [0, conversions].map((each) => ({
    ...{ cohort: 10, excluded: 0, joined: 10, likelihood: 0 },
    conversions: each,
  }));

/** One day with a number of conversions. */
const day = (number: number, conversions: number): StoredDay => ({
  ...{ _id: `mdl_a:1:${number}`, graded: 'mdl_a:1', org: 'org_a' },
  ...{ ledger_records: 20, stored_rows: 20, mismatched_requests: 0, without_crm_id: 0, erased: 0 },
  ...{ day: number, matured_day: number + horizonDays, bands: bands(conversions), organisation_records: 20 },
  read_at: new Date(asOfMs),
});

describe('sumDays', () => {
  const options = { asOfMs, horizonDays, maturedOnCutDay: bands(0), expectedLift: 2, countedForADay: false };
  /** A number of days with 20 leads each. */
  const daysFrom = (first: number, count: number): StoredDay[] =>
    Array.from({ length: count }, (_, index) => day(first + index, 0));

  it('returns the day on which the 200th prediction matures', () => {
    expect(sumDays(daysFrom(1_001, 10), options).verdictDay).to.equal(1_010 + horizonDays);
    expect(sumDays(daysFrom(1_001, 11), options).verdictDay).to.equal(1_010 + horizonDays);
    expect(sumDays(daysFrom(998, 10), options).verdictDay).to.equal(1_007 + horizonDays);
  });

  it('returns no such day with fewer than 200 predictions, or once 200 have matured', () => {
    expect(sumDays(daysFrom(1_001, 9), options).verdictDay).to.equal(undefined);
    expect(sumDays(daysFrom(985, 15), options).matured).to.equal(300);
    expect(sumDays(daysFrom(985, 15), options).verdictDay).to.equal(undefined);
  });

  it('counts towards that day only predictions that a grade then covers', () => {
    const early = daysFrom(640, 4);
    expect(sumDays([...early, ...daysFrom(999, 6)], options).verdictDay).to.equal(1_004 + horizonDays);
    expect(sumDays([...early, ...daysFrom(1_000, 6)], options).verdictDay).to.equal(undefined);
  });
});

describe('gradedDays', () => {
  const all = [day(635, 100), day(636, 1), day(998, 2), day(999, 4), day(1_000, 8), day(1_001, 16)];
  const graded = gradedDays(all, { asOfMs, horizonDays, maturedOnCutDay: bands(5) });

  it('returns the day that has partially matured as cutDay', () => {
    expect(graded.cutDay).to.equal(1_000);
  });

  it('counts the conversions of matured predictions after a day, within the window', () => {
    expect(graded.conversionsAfter(0)).to.equal(1 + 2 + 4 + 5);
    expect(graded.conversionsAfter(635)).to.equal(1 + 2 + 4 + 5);
    expect(graded.conversionsAfter(636)).to.equal(2 + 4 + 5);
    expect(graded.conversionsAfter(998)).to.equal(4 + 5);
    expect(graded.conversionsAfter(999)).to.equal(5);
    expect(graded.conversionsAfter(1_000)).to.equal(0);
  });
});
