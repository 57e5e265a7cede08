import { expect } from 'chai';
import { compileBooleanReader, compileBooleanWriter } from '../../../worker/feature-row/boolean-value.js';
import {
  compileMissingTexts,
  missingSentinel,
  unreadableSentinel,
  wasMissing,
  wasRead,
  wasUnreadable,
} from '../../../worker/feature-row/cell-reading.js';

const read = compileBooleanReader(compileMissingTexts(['unknown', 'no']));

describe('a boolean feature', () => {
  for (const value of [true, 1, 'true', 'True', '1', 'yes', 'YES', 'y', 'T', 'on', ' Yes\t', '\uff39'])
    it(`reads the boolean cell ${JSON.stringify(value)} as true`, () => expect(read(value)).to.equal(1));
  for (const value of [false, 0, -0, 'false', 'FALSE', '0', 'no', 'No', 'n', 'f', 'OFF', '\u00a0off'])
    it(`reads the boolean cell ${JSON.stringify(value)} as false`, () => expect(read(value) === 0).to.equal(true));
  for (const value of ['', ' ', 'null', 'NA', 'n/a', '-', 'Unknown'])
    it(`reads the boolean cell ${JSON.stringify(value)} as missing`, () =>
      expect(read(value)).to.equal(missingSentinel));
  for (const value of ['maybe', 'yess', '2', 2, -1, 0.5])
    it(`reads the boolean cell ${JSON.stringify(value)} as unreadable`, () =>
      expect(read(value)).to.equal(unreadableSentinel));

  it('sets the boolean column and clears the missing column, only for a readable value', () => {
    const out = new Float32Array([9, 9, 9]);
    const feature = { type: 'boolean', field: 'f', label: 'f', columns: [0], missing_column: 2 } as const;
    const write = compileBooleanWriter(feature, compileMissingTexts());
    expect(write('maybe', { out, offset: 0, nowMs: 0 })).to.equal(wasUnreadable);
    expect(write('none', { out, offset: 0, nowMs: 0 })).to.equal(wasMissing);
    expect(Array.from(out)).to.deep.equal([9, 9, 9]);
    expect(write('no', { out, offset: 0, nowMs: 0 })).to.equal(wasRead);
    expect(Array.from(out)).to.deep.equal([0, 9, 0]);
  });
});
