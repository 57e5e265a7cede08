import { expect } from 'chai';
import fc from 'fast-check';
import { foldedText } from '../../../shared/contract/texts.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';

const marks = '\u0327\u0301';

/** Upper case of `ß` is `SS`; only the capital `ẞ` has none of its own. */
const folded = (text: string): string =>
  text.normalize('NFKC').replace(/\s+/g, ' ').trim().replaceAll('ẞ', 'SS').toUpperCase().toLowerCase();

describe('foldedText', () => {
  it('normalizes to NFKC with single spaces, and folds case', () => {
    expect(foldedText('  ﬁrst\u00a0\tⅣ  Cafe\u0301 STRAßE ')).to.equal('first iv café strasse');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(foldedText(text)).to.equal(folded(text));
      }),
    );
  });

  it('keeps 30 marks of a letter, because sorting more takes quadratic time', () => {
    const thirty = `a${marks.repeat(15)}`;
    expect(foldedText(thirty)).to.equal(folded(thirty));
    for (const many of [16, 2_000]) {
      expect(foldedText(`a${marks.repeat(many)}`)).to.equal(folded(thirty));
      expect(foldedText(`a${marks.repeat(many)} b${marks.repeat(many)}`)).to.equal(
        folded(`${thirty} b${marks.repeat(15)}`),
      );
    }
  });
});

describe('pack with a key longer than any field name', () => {
  const fields = compileKnownFields({
    features: [{ type: 'number', field: 'Size', label: 'Size', columns: [0] }],
  });

  it('folds keys of up to 512 characters, and no longer ones', () => {
    const spaced = (length: number) => `si${'_'.repeat(length - 4)}ze`;
    expect(fields.pack({ [spaced(512)]: 1 })).to.deep.equal([1]);
    expect(fields.pack({ [spaced(513)]: 1 })).to.deep.equal([undefined]);
  });
});
