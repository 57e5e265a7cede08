import { expect } from 'chai';
import fc from 'fast-check';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import type { Cell } from '../../../shared/messages/cells.js';
import { certainGaps, gapsOf, maxList, maxValue } from '../../../shared/messages/cells.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';

const category = (field: string): Feature => ({
  ...{ type: 'category', encoding: 'onehot', field, label: field, categories: ['b', 'x'] },
  ...{ columns: [0, 1], other_column: 2, missing_column: 3 },
});
const number = (field: string): Feature => ({
  ...{ type: 'number', field, label: field, columns: [4], impute: 7, missing_column: 5 },
});
const multi = (field: string): Feature => ({
  ...{ type: 'multi', field, label: field, categories: ['a', 'b', 'x'], columns: [6, 7, 8] },
});
const date = (field: string): Feature => ({
  type: 'date',
  field,
  label: field,
  columns: [9],
  required: true,
});
const width = 10;

/** Reads cells with features: the row, the problems and the count of unreadable values. */
function readingOf(features: readonly Feature[]) {
  const fields = compileKnownFields({ features });
  const featureRow = compileFeatureRow({ features, width }, fields);
  const read = (cells: readonly Cell[]) => {
    const before = featureRow.unreadableCount;
    const out = new Float32Array(width);
    const problems = featureRow.write({ cells, nowMs: 0, out, offset: 0 });
    return { problems, row: [...out], unreadable: featureRow.unreadableCount - before };
  };
  return { fields, read };
}

const texts = fc
  .array(
    fc.tuple(
      fc.constantFrom('a', 'b', 'x', ';', ' ', '\u00a0', '5', '😀', '\ufdfa'),
      fc.constantFrom(...[0, 1, 2, maxValue - 1, maxValue, maxValue + 1], ...[maxList - 1, maxList, maxList + 1]),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.map(([text, times]) => text.repeat(times)).join(''));

describe('cutting of texts that are too long for a feature', () => {
  const combinations = [[category], [number], [multi], [date], [category, multi], [number, date]];
  for (const features of combinations) {
    const ofOneField = features.map((feature) => feature('field'));
    const name = ofOneField.map(({ type }) => type).join(' and ');
    const { fields, read } = readingOf(ofOneField);

    it(`cuts a text without changing its reading by ${name}`, () => {
      const maxLength = name.includes('multi') ? maxList : maxValue;
      fc.assert(
        fc.property(texts, (text) => {
          const [cell] = fields.pack({ field: text });
          expect(cell)
            .to.be.a('string')
            .with.length.at.most(maxLength + 1);
          if (text.length <= maxValue) expect(cell).to.equal(text);
          expect(read(JSON.parse(JSON.stringify([cell])))).to.deep.equal(read([text]));
          expect(fields.pack({ field: cell }), 'packed twice').to.deep.equal([cell]);
        }),
        { numRuns: 150 },
      );
    });
  }

  it('cuts texts in arrays and in stored fields as well', () => {
    const { fields, read } = readingOf([multi('tags'), category('source')]);
    const tags = ['a', 'x'.repeat(9_000_000), null, `b;${'y'.repeat(5_000)}`];
    const source = 'z'.repeat(9_000_000);
    const cells = fields.pack({ tags, source });
    expect(JSON.stringify(cells)).to.have.length.below(80_000);
    expect(read(cells)).to.deep.equal(read([tags, source]));
    for (const stored of [{ slots: [tags, source] }, { names: ['tags', 'source'], cells: [tags, source] }]) {
      const filled: Cell[] = [undefined, undefined];
      fields.mergeStored({ cells: filled, stored });
      expect(filled).to.deep.equal(cells);
    }
  });

  it('does not read a text that was cut as a single value as a list under another model', () => {
    const [asValue, asList] = [readingOf([category('tags')]), readingOf([multi('tags')])];
    const stored = { names: ['tags'], cells: asValue.fields.pack({ tags: 'a;b;x;'.repeat(1_000) }) };
    const cells: Cell[] = [undefined];
    asList.fields.mergeStored({ cells, stored });
    expect(asList.read(cells)).to.deep.equal(asList.read(['a;'.repeat(maxList)]));
    expect(asList.read(cells).unreadable).to.equal(1);
  });
});

describe('the gaps of a record', () => {
  it('are the slots that were not sent, as bits, and one bit for all slots from 25 on', () => {
    expect(gapsOf([1, undefined, [], null, ''], 5)).to.equal(0b01010);
    expect(gapsOf([1], 3), 'fewer cells than slots').to.equal(0b110);
    expect(gapsOf([], 0)).to.equal(0);
    const full: Cell[] = Array.from({ length: 40 }, () => 1);
    expect(gapsOf(full, 40)).to.equal(0);
    full[24] = undefined;
    expect(gapsOf(full, 40))
      .to.equal(2 ** 24)
      .and.to.equal(certainGaps(gapsOf(full, 40)));
    full[25] = undefined;
    full[39] = null;
    expect(gapsOf(full, 40)).to.equal(2 ** 24 + 2 ** 25);
    expect(certainGaps(gapsOf(full, 40))).to.equal(2 ** 24);
  });
});
