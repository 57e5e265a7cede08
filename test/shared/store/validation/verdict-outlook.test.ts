import { expect } from 'chai';
import { dayMs, dayText } from '../../../../shared/contract/dates.js';
import type { StoredVerdict } from '../../../../shared/store/validation/model-validation.js';
import { verdictOutlook } from '../../../../shared/store/validation/verdict-outlook.js';

const today = 20_000;
const nowMs = (today + 0.5) * dayMs;
const none = { stored: undefined, facts: undefined };

describe('verdictOutlook', () => {
  /** Leads whose scores fall into some bands, by how many days ago they were scored. */
  const scored = (leads: Readonly<Record<number, number>>, bands = 5) =>
    Object.entries(leads)
      .map(([back, count]) => ({ day: today - Number(back), count }))
      .sort((one, other) => one.day - other.day)
      .map(({ day, count }) => ({
        ...{ day, matured_day: day + 90, joined: [], likelihood: [] },
        cohort: Array.from({ length: 5 }, (_, band) => (band < bands ? count / bands : 0)),
      }));

  it('is the day on which the 200th lead has matured', () => {
    const days = scored({ 10: 150, 8: 45, 3: 10 });
    const outlook = { horizon_days: 90, verdict_day: dayText(today - 3 + 90), is_estimate: false };
    expect(verdictOutlook(days, { nowMs, ...none })).to.deep.equal(outlook);
    const shorter = verdictOutlook(days, { nowMs, ...none, facts: { horizon_days: 30 } });
    expect(shorter).to.include({ horizon_days: 30, verdict_day: dayText(today - 3 + 30) });
  });

  it('supposes the pace since the first lead while fewer are scored', () => {
    const outlook = verdictOutlook(scored({ 9: 40, 0: 10 }), { nowMs, ...none });
    expect(outlook).to.deep.equal({ horizon_days: 90, verdict_day: dayText(today + 30 + 90), is_estimate: true });
  });

  it('has no day without a lead, when a year brings too few, and when all scores are alike', () => {
    const noDay = { horizon_days: 90, is_estimate: false };
    expect(verdictOutlook([], { nowMs, ...none })).to.deep.equal(noDay);
    expect(verdictOutlook(scored({ 99: 50 }), { nowMs, ...none })).to.deep.equal(noDay);
    expect(verdictOutlook(scored({ 9: 400 }, 2), { nowMs, ...none })).to.deep.equal(noDay);
  });

  it('counts the leads that bring enough conversions at the rate so far', () => {
    const verdict = (conversions: number): StoredVerdict => ({
      ...{ _id: 'mdl:1', organisation_id: 'org', state: 'too_early_to_grade', failing_gate: 'outcomes_observed' },
      ...{ summary: '', graded_at: new Date(nowMs) },
      grade: {
        ...{ as_of: new Date(nowMs), data_read_at: new Date(nowMs), rebuilt_at: new Date(nowMs), horizon_days: 90 },
        state: 'too_early_to_grade',
        gates: [{ gate: 'outcomes_observed', state: 'too_early', figures: { conversions, required_conversions: 30 } }],
        bands: [{ scores: '0-19', records: 250, conversions, rate: 0, low: 0, high: 1 }],
      },
    });
    const days = scored({ 95: 250, 60: 200, 20: 100 });
    // 30 conversions of 250 leads with 15 need 500 leads.
    expect(verdictOutlook(days, { ...none, nowMs, stored: verdict(15) })).to.deep.equal({
      ...{ horizon_days: 90, verdict_day: dayText(today - 20 + 90), is_estimate: false },
    });
    expect(verdictOutlook(days, { ...none, nowMs, stored: verdict(0) })).to.not.have.property('verdict_day');
  });
});
