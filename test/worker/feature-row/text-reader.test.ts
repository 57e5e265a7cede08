import { expect } from 'chai';
import { compileTextReader } from '../../../worker/feature-row/text-reader.js';

describe('compileTextReader', () => {
  it('folds texts, and caches results for texts of up to 64 characters only', () => {
    const folded: string[] = [];
    const length = compileTextReader((text) => folded.push(text) && text.length, { tooLong: -1 });
    const long = 'x'.repeat(65);
    for (const text of [' A  B ', ' A  B ', long, long]) expect(length(text)).to.equal(text === long ? 65 : 3);
    expect(folded).to.deep.equal(['a b', long, long]);
  });

  it('returns tooLong for a text of more than 4,096 characters after trimming', () => {
    const read = compileTextReader((text) => text.length, { tooLong: -1 });
    expect(read(' '.repeat(9_999) + 'x'.repeat(4_096))).to.equal(4_096);
    expect(read('x'.repeat(4_097))).to.equal(-1);
  });

  it('empties a full cache', () => {
    let computed = 0;
    const read = compileTextReader(() => ++computed, { tooLong: -1 });
    const first = read('first');
    for (let text = 0; text < 2_000; text += 1) read(`${text}`);
    expect(read('first')).to.be.greaterThan(first);
  });
});
