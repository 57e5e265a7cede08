import { expect } from 'chai';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import type { Cell } from '../../../shared/messages/cells.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { StoredLead } from '../../../worker/scoring/lead-lookup.js';
import { FillIn, TooLongFields } from '../../../worker/scoring/stored-fields.js';

const features: readonly Feature[] = [
  { type: 'number', field: 'size', label: 'Size', columns: [0] },
  { type: 'multi', field: 'tags', label: 'Tags', categories: ['a'], columns: [1] },
];
const mebibyte = 1024 * 1024;

/** A lead with stored tags of so many characters, which counts how often they are read. */
function leadWith(length: number): StoredLead & { readonly reads: () => number } {
  const tags = Array.from({ length: Math.ceil(length / 10) }, () => 'x'.repeat(7));
  const text = JSON.stringify([5, tags]);
  let reads = 0;
  const read = () => {
    reads += 1;
    return { slots: [5, tags] };
  };
  return { length: text.length, read, reads: () => reads };
}

describe('the fill-in of stored fields', () => {
  const newFillIn = (records = 250) => new FillIn(compileKnownFields({ features }), records);
  const empty = (): Cell[] => [undefined, undefined];

  it('returns the cells of a record that lacked a stored field, as JSON', () => {
    const fillIn = newFillIn();
    expect(fillIn.fill([7, null], leadWith(20))).to.deep.equal({ text: '[7,["xxxxxxx","xxxxxxx"]]' });
    expect(fillIn.fill([7, 'a'], leadWith(20))).to.deep.equal({});
  });

  it('refuses records beyond 4 MiB of stored values, and names the longest field', () => {
    const fillIn = newFillIn();
    const lead = leadWith(mebibyte);
    const outcomes = Array.from({ length: 250 }, () => fillIn.fill(empty(), lead));
    expect(outcomes.filter(({ text }) => text !== undefined)).to.have.length(3);
    expect(outcomes[3]?.problem).to.deep.equal({
      field: 'tags',
      expected: 'the field to be sent, or fewer records at once',
      came: 'nothing: the stored values of these records exceed 4 MiB together',
    });
    expect(outcomes.slice(3).every(({ problem }) => problem !== undefined)).to.equal(true);
  });

  it('does not read stored fields once five records are refused', () => {
    const fillIn = newFillIn();
    const leads = Array.from({ length: 250 }, () => leadWith(50_000));
    for (let round = 0; round < 3; round += 1) for (const lead of leads) fillIn.fill(empty(), lead);
    const reads = leads.reduce((sum, lead) => sum + lead.reads(), 0);
    expect(reads).to.be.within(5, 4 * 20 + 10);
  });

  it('counts only the fields that a record lacks', () => {
    const fillIn = newFillIn();
    const lead = leadWith(mebibyte);
    for (let record = 0; record < 250; record += 1)
      expect(fillIn.fill([undefined, 'a'], lead)).to.deep.equal({ text: '[5,"a"]' });
  });

  it('refuses a lead whose stored fields are too long to be read', () => {
    const fillIn = newFillIn();
    const unread: StoredLead = { length: Number.POSITIVE_INFINITY, read: () => undefined };
    const problem = {
      field: '',
      expected: 'all fields to be sent, or fewer records at once',
      came: 'some: the stored values of this lead are too long to be read for so many records',
    };
    expect(fillIn.fill(empty(), unread)).to.deep.equal({ problem });
    expect(fillIn.fill(empty(), leadWith(15_000))).to.have.all.keys('text');
  });

  it('fills in a lead with short stored fields even when others are refused', () => {
    const fillIn = newFillIn();
    const small = leadWith(15_000);
    const large = leadWith(5 * mebibyte);
    for (let record = 0; record < 125; record += 1) {
      expect(fillIn.fill(empty(), large)).to.have.all.keys('problem');
      expect(fillIn.fill(empty(), small)).to.have.all.keys('text');
    }
  });

  it('refuses no record of a chunk of more than 250, but says that its stored fields are too long', () => {
    const small = leadWith(15_000);
    const unread: StoredLead = { length: Number.POSITIVE_INFINITY, read: () => undefined };
    const large = newFillIn(1_000);
    let filled = 0;
    const fillAll = () => {
      for (; filled < 1_000; filled += 1) expect(large.fill(empty(), small)).to.have.all.keys('text');
    };
    expect(fillAll).to.throw(TooLongFields);
    expect(filled).to.be.within((4 * mebibyte) / 16_000, (4 * mebibyte) / 15_000);
    expect(() => newFillIn(251).fill(empty(), unread)).to.throw(TooLongFields);
    expect(() => newFillIn(251).fill(empty(), leadWith(5 * mebibyte))).to.throw(TooLongFields);
    expect(newFillIn(251).fill(empty(), leadWith(3 * mebibyte))).to.have.all.keys('text');
    const short = newFillIn(1_000);
    for (let record = 0; record < 1_000; record += 1)
      expect(short.fill(empty(), leadWith(1_000))).to.have.all.keys('text');
  });
});
