import { expect } from 'chai';
import { queryParameter } from '../../../api/routes/reading.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { threadCpuMsOf } from '../../support/thread-cpu.js';

describe('queryParameter', () => {
  const read = (querystring: string, name = 'model_id') => queryParameter({ querystring }, name);

  it('returns a decoded parameter, and undefined for one that is absent', () => {
    expect(read('limit=2&model_id=a%20b+c')).to.equal('a b c');
    expect(read('limit=2')).to.equal(undefined);
  });

  it('refuses a repeated parameter', () => {
    expect(() => read('model_id=a&model_id=b')).to.throw(ApiError, 'model_id must come once in the address');
    expect(read('limit=1&limit=2&model_id=a')).to.equal('a');
  });

  it('takes less than 50 ms of CPU time for a query of 15,000 characters', () => {
    for (const query of ['a&'.repeat(7_500), Array.from({ length: 4_000 }, (_, index) => index).join('&')]) {
      const tookMs = [1, 2, 3].map(() => threadCpuMsOf(() => expect(read(`${query}&model_id=m`)).to.equal('m')));
      expect(Math.min(...tookMs), 'ms of CPU time').to.be.below(50);
    }
  });
});
