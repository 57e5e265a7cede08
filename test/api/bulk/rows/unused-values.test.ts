import { expect } from 'chai';
import { unusedValues } from '../../../../api/bulk/rows/unused-values.js';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';
import { type ReadingKind, readingKinds, type ScoredPart } from '../../../../shared/messages/score-job.js';

const names = ['Revenue', 'Source', 'Size'] as const;
const model = {
  id: 'mdl_1',
  version: '1',
  knownFields: compileKnownFields({
    features: names.map((field, index) => ({ type: 'number', field, label: field, columns: [index] })),
  }),
};

/** The reply for some records, with counts of the readings of fields. */
const part = (
  records: number,
  counts: readonly (readonly [(typeof names)[number], ReadingKind, number])[],
): ScoredPart => ({
  scores: Array.from({ length: records }, () => 1),
  ...{ likelihoods: [], matched: [], previous: [], warnings: [], filled: [] },
  readings: {
    counts: counts.flatMap(([field, kind, count]) => [names.indexOf(field), readingKinds.indexOf(kind), count]),
    values: [],
  },
});
const why = 'Send some of these rows to POST /v1/score with "input_report": true to see why';

describe('values that the model could not use', () => {
  const noticesOf = (...parts: ScoredPart[]) => unusedValues({ parts }, model, { first_row: 1001, rows: 1000 });

  it('are named by their field when it has no other ones', () => {
    const found = noticesOf(
      part(2, [
        ['Revenue', 'unread', 2],
        ['Source', 'unseen', 1],
        ['Source', 'missing', 1],
      ]),
      part(1, [
        ['Revenue', 'missing', 1],
        ['Source', 'unseen', 1],
      ]),
    );
    expect(found).to.deep.equal([
      `No value of "Revenue" in rows 1,001 to 2,000 could be read. ${why}`,
      `No value of "Source" in rows 1,001 to 2,000 is one that the model was trained with. ${why}`,
    ]);
    const [one] = unusedValues({ parts: [part(1, [['Size', 'unread', 1]])] }, model, { first_row: 1, rows: 1 });
    expect(one).to.equal(`No value of "Size" in row 1 could be read. ${why}`);
  });

  it('are not named when another value of the field was used, or none was sent', () => {
    expect(noticesOf(part(2, [['Revenue', 'unread', 1]]))).to.deep.equal([]);
    expect(noticesOf(part(2, [['Revenue', 'missing', 2]]))).to.deep.equal([]);
    const filled = part(2, [
      ['Revenue', 'filled', 1],
      ['Revenue', 'unread', 1],
    ]);
    expect(noticesOf(filled, part(1, [['Revenue', 'ambiguous', 1]]))).to.deep.equal([]);
    expect(noticesOf()).to.deep.equal([]);
  });
});
