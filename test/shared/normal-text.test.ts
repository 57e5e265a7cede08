import { expect } from 'chai';
import fc from 'fast-check';
import { compileKnownFields } from '../../shared/known-fields.js';
import { foldedText, normalText } from '../../shared/normal-text.js';

const marks = '\u0327\u0301';

describe('normalText', () => {
  it('is NFKC with single spaces', () => {
    expect(normalText('  ﬁrst\u00a0\tⅣ  cafe\u0301 ')).to.equal('first IV café');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(normalText(text)).to.equal(text.normalize('NFKC').replace(/\s+/g, ' ').trim());
      }),
    );
  });

  it('keeps thirty marks of a letter, and no more: to put more in order takes the square of their number', () => {
    const thirty = `a${marks.repeat(15)}`;
    expect(normalText(thirty)).to.equal(thirty.normalize('NFKC'));
    for (const many of [16, 2_000]) {
      expect(normalText(`a${marks.repeat(many)}`)).to.equal(thirty.normalize('NFKC'));
      expect(normalText(`a${marks.repeat(many)}b${marks.repeat(many)}`)).to.equal(
        `${thirty}b${marks.repeat(15)}`.normalize('NFKC'),
      );
    }
  });

  it('is the same for a text that is normal already', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...`aA é${marks}`), maxLength: 200 }), (text) => {
        expect(normalText(normalText(text))).to.equal(normalText(text));
        expect(foldedText(normalText(text))).to.equal(foldedText(text));
      }),
    );
  });
});

describe('a key that is longer than any name', () => {
  const fields = compileKnownFields({
    features: [{ type: 'number', field: 'Size', label: 'Size', columns: [0] }],
  });

  it('is no name in another form', () => {
    const spaced = (length: number) => `si${'_'.repeat(length - 4)}ze`;
    expect(fields.pack({ [spaced(512)]: 1 })).to.deep.equal([1]);
    expect(fields.pack({ [spaced(513)]: 1 })).to.deep.equal([undefined]);
  });
});
