import { expect } from 'chai';
import type { MultiFeature } from '../../../shared/bundle/manifest/manifest.js';
import type { Scalar } from '../../../shared/messages/cells.js';
import {
  compileMissingTexts,
  type Reading,
  wasMissing,
  wasRead,
  wasUnreadable,
  wasUnseen,
} from '../../../worker/feature-row/cell-reading.js';
import { compileMultiWriter } from '../../../worker/feature-row/multi-value.js';
import { threadCpuMsOf } from '../../support/thread-cpu.js';

const tags: MultiFeature = {
  type: 'multi',
  field: 'tags',
  label: 'Tags',
  categories: ['Alpha', 'Beta', 'Research; Development'],
  columns: [1, 2, 3],
};

/** Writes each value into its own row with one writer; returns the rows and their readings. */
function written(values: readonly Scalar[], feature: MultiFeature = tags): [row: number[], reading: Reading][] {
  const write = compileMultiWriter(feature, compileMissingTexts(['no tags']));
  return values.map((value) => {
    const out = new Float32Array(5);
    const reading = write(value, { out, offset: 1, nowMs: 0 });
    return [[...out], reading];
  });
}

describe('compileMultiWriter', () => {
  it('sets the column of each category in a list', () => {
    expect(written(['alpha', 'ALPHA ;beta', 'beta;;  beta '])).to.deep.equal([
      [[0, 0, 1, 0, 0], wasRead],
      [[0, 0, 1, 1, 0], wasRead],
      [[0, 0, 0, 1, 0], wasRead],
    ]);
  });

  it('reads a text of 65,000 combining marks within 250 ms of CPU time', () => {
    const marks = ['\u0345'.repeat(20_000), '\u0301'.repeat(25_000), '\u0316'.repeat(20_000)].join('');
    const read = () =>
      expect(written([`a${marks}`, `beta;a${marks}`])).to.deep.equal([
        [[0, 0, 0, 0, 0], wasUnseen],
        [[0, 0, 0, 1, 0], wasUnseen],
      ]);
    const tookMs = Math.min(threadCpuMsOf(read), threadCpuMsOf(read));
    expect(tookMs, 'ms of CPU time; 3,400 with marks in quadratic time').to.be.below(250);
  });

  it('does not split a text that equals a category', () => {
    expect(written(['research; development'])).to.deep.equal([[[0, 0, 0, 0, 1], wasRead]]);
  });

  it('sets no column for an unknown category', () => {
    expect(written(['gamma', 5, 'gamma; alpha'])).to.deep.equal([
      [[0, 0, 0, 0, 0], wasUnseen],
      [[0, 0, 0, 0, 0], wasUnseen],
      [[0, 0, 1, 0, 0], wasUnseen],
    ]);
  });

  it('returns missing only if every part of the list means missing', () => {
    const readings = written(['', ';', 'n/a', 'none; No  Tags', 'none; gamma']).map(([, reading]) => reading);
    expect(readings).to.deep.equal([wasMissing, wasMissing, wasMissing, wasMissing, wasUnseen]);
  });

  it('returns the same columns for a repeated text', () => {
    const texts = ['beta; alpha', 'n/a', 'gamma', `alpha; ${'x'.repeat(100)}`];
    const [first, second] = [written(texts), written([...texts, ...texts]).slice(texts.length)];
    expect(second).to.deep.equal(first);
  });

  it('splits a list at the separator of the feature, and never with an empty separator', () => {
    expect(written(['alpha, beta', 'alpha;beta'], { ...tags, separator: ',' })).to.deep.equal([
      [[0, 0, 1, 1, 0], wasRead],
      [[0, 0, 0, 0, 0], wasUnseen],
    ]);
    expect(written(['alpha;beta', 'beta'], { ...tags, separator: '' })).to.deep.equal([
      [[0, 0, 0, 0, 0], wasUnseen],
      [[0, 0, 0, 1, 0], wasRead],
    ]);
  });

  it('returns unreadable for a list of more than 65,536 characters', () => {
    expect(written([`alpha;${'x'.repeat(65_536)}`])).to.deep.equal([[[0, 0, 0, 0, 0], wasUnreadable]]);
  });

  const base: MultiFeature = {
    type: 'multi',
    field: 'f',
    label: 'f',
    categories: ['a', 'B b', 'none'],
    columns: [0, 1, 2],
  };
  const rowOf = (value: Scalar, feature: MultiFeature = base): readonly [number, number[]] => {
    const out = new Float32Array(3);
    const reading = compileMultiWriter(feature, compileMissingTexts(['Select']))(value, {
      out,
      offset: 0,
      nowMs: 0,
    });
    return [reading, Array.from(out)];
  };

  it('sets a column once for repeated parts in any order', () => {
    expect(rowOf('a;b b')).to.deep.equal([wasRead, [1, 1, 0]]);
    expect(rowOf(' B  B ; A ;A;')).to.deep.equal([wasRead, [1, 1, 0]]);
    expect(rowOf('a\uff1bnone')).to.deep.equal([wasRead, [1, 0, 1]]);
  });

  it('returns unseen for a list with an unknown part, which sets no column', () => {
    expect(rowOf('x;y')).to.deep.equal([wasUnseen, [0, 0, 0]]);
    expect(rowOf(5)).to.deep.equal([wasUnseen, [0, 0, 0]]);
    expect(rowOf('x;a')).to.deep.equal([wasUnseen, [1, 0, 0]]);
  });

  for (const text of ['', ' ; ', 'null', 'N/A;-', 'Select'])
    it(`returns missing for the multi cell ${JSON.stringify(text)}`, () =>
      expect(rowOf(text)).to.deep.equal([wasMissing, [0, 0, 0]]));

  it('recognizes a category that contains the separator', () => {
    const feature: MultiFeature = { ...base, separator: ',', categories: ['a', 'Banking, Insurance', 'c'] };
    expect(rowOf('a,c', feature)).to.deep.equal([wasRead, [1, 0, 1]]);
    expect(rowOf('banking, insurance', feature)).to.deep.equal([wasRead, [0, 1, 0]]);
    expect(rowOf('a;c', feature)).to.deep.equal([wasUnseen, [0, 0, 0]]);
    expect(rowOf('a\nc', { ...feature, separator: '\n' })).to.deep.equal([wasRead, [1, 0, 1]]);
  });
});
