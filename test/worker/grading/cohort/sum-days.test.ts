import { expect } from 'chai';
import { dayMs } from '../../../../shared/contract/dates.js';
import type { StoredDay } from '../../../../shared/store/validation/validation-daily.js';
import { gradedDays } from '../../../../worker/grading/cohort/sum-days.js';

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
