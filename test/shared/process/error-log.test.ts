import { expect } from 'chai';
import { errorLog } from '../../../shared/process/error-log.js';

describe('errorLog', () => {
  const lines: unknown[] = [];
  const write = (fields: unknown, message?: unknown): void => void lines.push([message, fields]);
  const logger = { warn: write };
  const clock = performance.now;
  let nowMs: number;

  beforeEach(() => {
    lines.length = 0;
    nowMs = 1_000;
    performance.now = () => nowMs;
  });
  afterEach(() => {
    performance.now = clock;
  });

  it('logs the first error at once, then one line in 30 s with the count since the last', () => {
    const note = errorLog(logger, 'lane error', { lane: 'singles' });
    for (let count = 0; count < 100; count += 1) note(new Error('wrong'));
    expect(lines).to.deep.equal([['lane error', { lane: 'singles', error: 'wrong', times: 1 }]]);
    nowMs += 30_000;
    note(new Error('wrong still'));
    expect(lines[1]).to.deep.equal(['lane error', { lane: 'singles', error: 'wrong still', times: 100 }]);
    expect(lines).to.have.length(2);
  });

  it('hands each error of a server that is away to the logger, and counts none of them', () => {
    const note = errorLog(logger, 'lane error', { lane: 'singles' });
    const error = new Error('Connection is closed.');
    note(error);
    note(error);
    note(new Error('wrong'));
    expect(lines).to.deep.equal([
      ['lane error', { lane: 'singles', error }],
      ['lane error', { lane: 'singles', error }],
      ['lane error', { lane: 'singles', error: 'wrong', times: 1 }],
    ]);
  });
});
