import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { Pace, Progress } from '../../../scripts/cli/output/progress.js';
import { countText, readableBytes, readableDuration } from '../../../scripts/cli/output/readable-numbers.js';

describe('pace', () => {
  it('computes the rate and the time left from two samples', () => {
    const pace = new Pace(10_000);
    pace.sample(0, { done: 0, fraction: 0 });
    expect(pace.read()).to.deep.equal({ perSecond: undefined, leftMs: undefined });
    pace.sample(2_000, { done: 500, fraction: 0.2 });
    expect(pace.read()).to.deep.equal({ perSecond: 250, leftMs: 8_000 });
  });

  it('ignores samples before its window', () => {
    const pace = new Pace(1_000);
    for (let second = 0; second <= 10; second += 1) pace.sample(1_000 * second, { done: 0, fraction: undefined });
    pace.sample(11_000, { done: 600, fraction: undefined });
    expect(pace.read().perSecond).to.be.within(300, 600);
  });

  it('returns no time left while the fraction does not grow', () => {
    const pace = new Pace();
    pace.sample(0, { done: 5, fraction: 0.5 });
    pace.sample(1_000, { done: 5, fraction: 0.5 });
    expect(pace.read().leftMs).to.equal(undefined);
  });
});

describe('progress', () => {
  it('writes lines without a terminal, and a repeated note only once', () => {
    const stream = new PassThrough();
    const progress = new Progress({ stream, label: 'Scoring', unit: 'records', lineEveryMs: 0 });
    progress.start();
    progress.update({ done: 12_000, fraction: 0.4 });
    progress.waiting('waiting for the rate limit');
    progress.waiting('waiting for the rate limit');
    progress.stop();
    const lines = String(stream.read()).trimEnd().split('\n');
    expect(lines).to.have.length(2);
    expect(lines[0]).to.match(/^Scoring {3}40 % {2}12,000 records/);
    expect(lines[1]).to.match(/waiting for the rate limit$/);
  });

  it('redraws a bar on a terminal, and leaves the last state', () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80, cursorTo: () => true });
    const progress = new Progress({ stream, label: 'Scoring', unit: 'records' });
    progress.start();
    progress.update({ done: 10, fraction: 1 });
    progress.stop();
    progress.stop();
    expect(String(stream.read())).to.match(/█{20} {2,}100 % {2}10 records/);
  });
});

describe('readable numbers', () => {
  it('group thousands and carry their unit', () => {
    expect([0, 999, 12_345, -2_000].map(countText)).to.deep.equal(['0', '999', '12,345', '-2,000']);
    expect([0, 840, 12_000, 59_600, 185_000, 7_800_000].map(readableDuration)).to.deep.equal([
      ...['0.0 s', '0.8 s', '12 s', '1 min 00 s', '3 min 05 s', '2 h 10 min'],
    ]);
    expect([512, 2_500_000].map(readableBytes)).to.deep.equal(['512 B', '2.4 MiB']);
  });
});
