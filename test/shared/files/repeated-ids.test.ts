import { expect } from 'chai';
import fc from 'fast-check';
import { RepeatedIds, repeatsText } from '../../../shared/files/repeated-ids.js';

const repeatsOf = (ids: readonly string[], maxSlots?: number) => {
  const repeated = new RepeatedIds(maxSlots);
  for (const [index, id] of ids.entries()) repeated.add(id, index + 2);
  return repeated.repeats;
};

describe('RepeatedIds', () => {
  it('counts the rows with an id that an earlier row has', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 2 })), (ids) => {
        expect(repeatsOf(ids)?.rows ?? 0).to.equal(ids.length - new Set(ids).size);
      }),
    );
    expect(repeatsText(repeatsOf(['a', 'b']))).to.equal(undefined);
    expect(repeatsText(repeatsOf(['a', 'b', 'a']))).to.equal(
      '1 row has a crm_id that an earlier row has, such as "a" in line 4',
    );
    expect(repeatsText(repeatsOf(['a', 'b', 'a', 'b']), { quotesId: false })).to.equal(
      '2 rows have a crm_id that an earlier row has, first in line 4',
    );
  });

  it("counts the other form of one of Salesforce's ids", () => {
    expect(repeatsOf(['001A0000006Vm9u', '001A0000006Vm9uIAC', '001A0000006VM9u'])).to.deep.include({
      rows: 1,
      example: { id: '001A0000006Vm9uIAC', line: 3 },
    });
  });

  it('finds no repeat among a million similar ids, and then each of them', () => {
    const repeated = new RepeatedIds();
    const idOf = (index: number): string => `00Q5g00000${String(index).padStart(8, '0')}`;
    for (let index = 0; index < 1_000_000; index += 1) repeated.add(idOf(index), index);
    expect(repeated.repeats).to.equal(undefined);
    for (let index = 0; index < 1_000_000; index += 1) repeated.add(idOf(index), index);
    expect(repeated.repeats).to.deep.include({ rows: 1_000_000, areAll: true });
  });

  it('says at least when it no longer remembers all ids', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `L${index}`);
    const repeats = repeatsOf([...ids, ...ids], 1 << 12);
    expect(repeats?.rows).to.be.within(2_000, 3_000);
    expect(repeatsText(repeats)).to.match(
      /^At least 2,\d+ rows have a crm_id that an earlier row has, such as "L0" in/,
    );
  });
});
