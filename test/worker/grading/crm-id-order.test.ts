import { expect } from 'chai';
import fc from 'fast-check';
import { compareCrmIds, isInRange } from '../../../worker/grading/crm-id-order.js';

/** Characters of each length in UTF-8, on both sides of the surrogates. */
const character = fc.constantFrom('a', 'b', '0', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}');
const crmId = fc.string({ unit: character, maxLength: 6 });

describe('the order of crm_ids', () => {
  it('is that of their UTF-8 bytes, as MongoDB has it', () => {
    fc.assert(
      fc.property(crmId, crmId, (one, other) => {
        const bytes = Buffer.compare(Buffer.from(one), Buffer.from(other));
        expect(Math.sign(compareCrmIds(one, other))).to.equal(bytes);
      }),
      { numRuns: 1_000, examples: [['\uffff', '😀']] },
    );
  });

  it('puts every crm_id into one of two neighbouring ranges', () => {
    fc.assert(
      fc.property(crmId, crmId, (middle, one) => {
        const lower = isInRange(one, { from: '', until: middle });
        const upper = isInRange(one, { from: middle, until: undefined });
        expect(lower).to.equal(!upper);
        expect(upper).to.equal(compareCrmIds(one, middle) >= 0);
        expect(isInRange(one, { from: '', until: undefined })).to.equal(true);
      }),
    );
  });
});
