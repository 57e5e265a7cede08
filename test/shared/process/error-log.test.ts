import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { errorLog, logConnection } from '../../../shared/process/error-log.js';

describe('errorLog', () => {
  const lines: unknown[] = [];
  const write = (fields: unknown, message?: unknown): void => void lines.push([message, fields]);
  const logger = { warn: write, info: write };
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
    for (let count = 0; count < 100; count += 1) note(new Error('refused'));
    expect(lines).to.deep.equal([['lane error', { lane: 'singles', error: 'refused', times: 1 }]]);
    nowMs += 30_000;
    note(new Error('refused still'));
    expect(lines[1]).to.deep.equal(['lane error', { lane: 'singles', error: 'refused still', times: 100 }]);
    expect(lines).to.have.length(2);
  });

  it('logs when a connection is back, and the next error after that at once', () => {
    const redis = new EventEmitter();
    logConnection(redis, 'commands', logger);
    redis.emit('ready');
    expect(lines).to.deep.equal([]);
    for (let count = 0; count < 5; count += 1) redis.emit('error', new Error('refused'));
    nowMs += 2_500;
    redis.emit('ready');
    redis.emit('error', new Error('refused again'));
    expect(lines).to.deep.equal([
      ['redis connection error', { connection: 'commands', error: 'refused', times: 1 }],
      ['redis connection is back', { connection: 'commands', awayS: 2.5 }],
      ['redis connection error', { connection: 'commands', error: 'refused again', times: 1 }],
    ]);
  });
});
