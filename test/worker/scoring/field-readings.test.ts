import { expect } from 'chai';
import type { Cell } from '../../../shared/messages/cells.js';
import {
  wasAmbiguous,
  wasMissing,
  wasRead,
  wasUnreadable,
  wasUnseen,
} from '../../../worker/feature-row/cell-reading.js';
import { SlotReadings } from '../../../worker/feature-row/slot-readings.js';
import { fieldReadings } from '../../../worker/scoring/field-readings.js';

const [missing, unread, unseen, filled, ambiguous] = [0, 1, 2, 3, 4];
const report = (rows: readonly (readonly Cell[])[], slots: SlotReadings, reportsRecords?: true) =>
  fieldReadings({ rows, ...(reportsRecords && { reportsRecords }) }, slots);

describe('fieldReadings', () => {
  it('counts the records of each slot and kind, and their values', () => {
    const slots = new SlotReadings(3, 2);
    slots.set(0, 0, wasUnreadable);
    slots.set(1, 0, wasUnreadable);
    slots.set(1, 1, wasUnseen);
    slots.set(2, 1, wasMissing);
    expect(
      report(
        [
          ['lots', 'a'],
          ['lots', 'SaaS'],
          [3, undefined],
        ],
        slots,
      ),
    ).to.deep.equal({
      counts: [0, unread, 2, 1, missing, 1, 1, unseen, 1],
      values: [
        [0, unread, 'lots', 2],
        [1, unseen, 'SaaS', 1],
      ],
    });
  });

  it('is empty for records of which every field was read', () => {
    expect(report([[1]], new SlotReadings(1, 1))).to.deep.equal({ counts: [], values: [] });
  });

  it('reports the best reading of a slot that several features read', () => {
    const slots = new SlotReadings(1, 1);
    const seen = [wasMissing, wasUnreadable, wasUnseen, wasRead, wasAmbiguous, wasMissing] as const;
    const best = seen.map((reading) => {
      slots.set(0, 0, reading);
      return slots.of(0, 0);
    });
    expect(best).to.deep.equal([wasMissing, wasUnreadable, wasUnseen, wasRead, wasAmbiguous, wasAmbiguous]);
  });

  it('counts ambiguous dates, and names them only record by record', () => {
    const slots = new SlotReadings(2, 1);
    slots.set(0, 0, wasAmbiguous);
    slots.setFilled(1, 0);
    slots.set(1, 0, wasAmbiguous);
    expect(report([['03/04/2026'], ['05/06/2026']], slots, true)).to.deep.equal({
      counts: [0, filled, 1, 0, ambiguous, 2],
      values: [],
      records: [
        [0, ambiguous, '03/04/2026'],
        [0, filled, '', 0, ambiguous, '05/06/2026'],
      ],
    });
  });

  it('counts a value of an earlier prediction as filled, also if the model has not seen it', () => {
    const slots = new SlotReadings(1, 2);
    slots.setFilled(0, 0);
    slots.setFilled(0, 1);
    slots.setFilled(0, 2); // read by the recency guard alone
    slots.set(0, 1, wasUnseen);
    expect(report([['a', 'SaaS', '2026-01-01']], slots, true)).to.deep.equal({
      counts: [0, filled, 1, 1, unseen, 1, 1, filled, 1],
      values: [[1, unseen, 'SaaS', 1]],
      records: [[0, filled, '', 1, filled, '', 1, unseen, 'SaaS']],
    });
  });

  it('does not count a field as missing whose value of an earlier prediction means missing', () => {
    const slots = new SlotReadings(1, 1);
    slots.setFilled(0, 0);
    slots.set(0, 0, wasMissing);
    expect(report([['n/a']], slots, true)).to.deep.equal({
      counts: [0, filled, 1],
      values: [],
      records: [[0, filled, '']],
    });
  });

  it('names at most 20 different values, each with at most 64 characters', () => {
    const rows = Array.from({ length: 50 }, (_, index) => [`${index} ${'x'.repeat(62)}😀 ${'y'.repeat(5_000)}`]);
    const slots = new SlotReadings(50, 1);
    for (const row of rows.keys()) slots.set(row, 0, wasUnseen);
    const { counts, values } = report(rows, slots);
    expect(counts).to.deep.equal([0, unseen, 50]);
    expect(values).to.have.length(20);
    for (const [, , value] of values)
      expect(value)
        .to.match(/^\d+ x+…$/)
        .and.to.have.length.within(63, 64);
  });

  it('writes a list as text, without its empty elements', () => {
    const slots = new SlotReadings(1, 1);
    slots.set(0, 0, wasUnseen);
    expect(report([[['a', null, 'zz']]], slots).values).to.deep.equal([[0, unseen, 'a;zz', 1]]);
  });

  it('forgets a refused row and takes the readings of a moved one', () => {
    const slots = new SlotReadings(2, 1);
    slots.set(0, 0, wasUnreadable);
    slots.clear(0);
    slots.set(1, 0, wasUnseen);
    slots.move(1, 0);
    expect(report([['SaaS']], slots).counts).to.deep.equal([0, unseen, 1]);
  });
});
