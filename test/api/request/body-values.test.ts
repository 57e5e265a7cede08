import { expect } from 'chai';
import fc from 'fast-check';
import { boundValues, valuesIn } from '../../../api/request/body-values.js';
import { ApiError } from '../../../shared/contract/errors.js';

/** The same by walking through what was parsed. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value);
  return Math.max(1, inside.length) + inside.reduce<number>((sum, one) => sum + countOf(one), 0);
}

const list = (length: number): string => `[${Array.from({ length }, () => '1').join()}]`;

describe('values of a body', () => {
  it('are counted as they are parsed, whatever stands in texts and keys', () => {
    const json = fc.jsonValue({ stringUnit: 'binary' });
    const odd = fc.dictionary(fc.constantFrom('"', '\\', '\\"', ',', '{', ']', 'a'), json);
    fc.assert(
      fc.property(fc.oneof(json, odd), fc.constantFrom(undefined, 1), (value, indent) => {
        expect(valuesIn(Buffer.from(JSON.stringify(value, undefined, indent))).count).to.equal(
          countOf(value),
        );
      }),
    );
  });

  it('tell the longest list that is a member of the body, and no object or deeper list', () => {
    const body = `{"a":${list(3)},"records":${list(5)},"b":[${list(9)}],"c":{"d":${list(9)},"e":1,"f":1,"g":1,"h":1,"i":1}}`;
    expect(valuesIn(Buffer.from(body)).maxList).to.equal(5);
  });

  it('of a body that is no JSON are counted somehow', () => {
    for (const text of ['', '"', '\\', ']]]', '{"a\\', '[[[[', ',,,,'])
      expect(valuesIn(Buffer.from(text)).count).to.be.within(0, 4);
  });

  it('are counted with their levels, and with whether they are all there', () => {
    for (const [text, levels, isWhole] of [
      ['{"a":[1,{}],"b":[[]]}', 3, true],
      ['1', 0, true],
      ['[[1],', 2, false],
      ['["]', 1, false],
    ] as const)
      expect(valuesIn(Buffer.from(text))).to.include({ levels, isWhole });
  });

  it('are refused where there are more than the most, and not where there are as many', () => {
    const bound = (length: number) =>
      boundValues(Buffer.from(list(length)), { most: 10, advice: 'send less' });
    bound(10);
    expect(() => bound(11))
      .to.throw(ApiError, /^The body has more than 10 values: send less\.$/)
      .with.nested.property('entry.status', 400);
    for (const [text, says] of [
      [list(20).slice(1, -1).padStart(50, '['), /ends too early/],
      ['['.repeat(33) + ']'.repeat(33), /deeper than 32/],
    ] as const) {
      expect(() => boundValues(Buffer.from(text), { most: 10, advice: '' }))
        .to.throw(ApiError, says)
        .with.nested.property('entry.status', 422);
    }
  });
});
