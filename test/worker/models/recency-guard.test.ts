import { expect } from 'chai';
import type { Feature, Recency } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { compileRecencyGuard } from '../../../worker/models/recency-guard.js';

const nowMs = Date.parse('2026-03-02T12:00:00Z');
const age: Feature = { type: 'number', field: 'age', label: 'Age', columns: [0] };
const field = 'Last Activity Date';

function warning(value: unknown, recency: Partial<Recency> = {}, features: readonly Feature[] = [age]) {
  const manifest = {
    features,
    recency: { field, max_age_days: 365, ...recency },
    missing_tokens: ['1990-01-01'],
  };
  const fields = compileKnownFields(manifest);
  return compileRecencyGuard(manifest, fields)(fields.pack({ age: 1, last_activity_date: value }), nowMs);
}

describe('the recency guard', () => {
  it('warns of a record older than those the model was trained on', () => {
    expect(warning('2025-01-14')).to.equal(
      'Last Activity Date is 412 days old; this model was trained on records at most 365 days old',
    );
  });

  it('compares to the second, and never names an age within the limit', () => {
    expect(warning('2025-03-02T12:00:00Z')).to.equal(undefined);
    expect(warning('2025-03-02T11:59:59Z')).to.match(/is 366 days old/);
    expect(warning('2026-03-01T00:00:00Z', { max_age_days: 1 })).to.match(/is 2 days old.* at most 1 day old/);
  });

  it('warns of a date in the future beyond its tolerance, which defaults to one day', () => {
    expect(warning('2026-03-03T12:00:00Z')).to.equal(undefined);
    expect(warning('2026-03-05T13:00:00Z')).to.equal(
      'Last Activity Date is 3 days in the future; this model expects at most 1 day',
    );
    expect(warning('2026-03-05T13:00:00Z', { future_tolerance_days: 4 })).to.equal(undefined);
    expect(warning('2026-03-02T12:00:01Z', { future_tolerance_days: 0 })).to.match(/1 day in the future.* 0 days/);
  });

  for (const value of [undefined, null, '', 'n/a', 'yesterday', '1990-01-01', true, {}, [['2001-01-01']], '2025-02-30'])
    it(`does not warn of ${JSON.stringify(value)}`, () => expect(warning(value)).to.equal(undefined));

  it('reads Unix time and one-element arrays', () => {
    expect(warning([1_700_000_000])).to.match(/is 838 days old/);
  });

  it("reads dates with slashes in the order of the field's date feature", () => {
    const date: Feature = { type: 'date', field, label: 'Seen', columns: [1], date_order: 'dmy' };
    expect(warning('14/01/2025')).to.equal(undefined);
    expect(warning('14/01/2025', {}, [age, date])).to.match(/is 412 days old/);
  });

  it('does not warn for a model without a recency rule', () => {
    const fields = compileKnownFields({ features: [age] });
    expect(compileRecencyGuard({ features: [age] }, fields)(fields.pack({ age: 1 }), nowMs)).to.equal(undefined);
  });
});
