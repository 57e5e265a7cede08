import { expect } from 'chai';
import fc from 'fast-check';
import { bar, gauge, renderHistogram, ScoreHistogram } from '../../../scripts/cli/output/charts.js';

describe('ScoreHistogram and bars', () => {
  it('counts every score in the bin with its label', () => {
    const score = fc.integer({ min: 0, max: 100 });
    fc.assert(
      fc.property(fc.array(score), (scores) => {
        const histogram = new ScoreHistogram();
        for (const each of scores) histogram.add(each);
        for (const { label, count } of histogram.bins()) {
          const [min = 0, max = 0] = label.split('-').map(Number);
          expect(count, label).to.equal(scores.filter((each) => each >= min && each <= max).length);
        }
        expect(histogram.bins()).to.have.length(10);
      }),
    );
  });

  it('continues from given counts', () => {
    const histogram = new ScoreHistogram([1, 2]);
    histogram.add(100);
    expect(histogram.toCounts()).to.deep.equal([1, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
  });

  it('draws bars in proportion, with counts and shares, within the width', () => {
    const bins = [
      { label: '0-9', count: 1_500 },
      { label: '10-19', count: 750 },
      { label: '20-29', count: 1 },
      { label: '30-39', count: 0 },
    ];
    const lines = renderHistogram(bins, { width: 60 }).split('\n');
    const full = lines[0]?.match(/█+/)?.[0].length ?? 0;
    expect(lines[0]).to.match(/^ {2}0-9 {2}█+ 1,500 {2}66\.6 %$/);
    expect(lines[1])
      .to.include(bar(0.5, full))
      .and.match(/ 750 {2}33\.3 %$/);
    expect(lines[2], 'a single value is visible').to.include('▏');
    expect(lines[3]).to.match(/^30-39 +0 {3}0\.0 %$/);
    for (const line of lines) expect(line.length).to.be.at.most(60);
  });

  it('draws a bar with a precision of an eighth of a character', () => {
    expect(bar(0, 10)).to.equal('');
    expect(bar(0.05, 10)).to.equal('▌');
    expect(bar(2, 3)).to.equal('███');
    expect(bar(Number.NaN, 3)).to.equal('');
    expect(gauge(0.5, 4)).to.equal('██░░');
  });
});
