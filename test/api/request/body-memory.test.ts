import { expect } from 'chai';
import { BodyMemory } from '../../../api/request/body-memory.js';
import { ApiError } from '../../../shared/contract/errors.js';

describe('BodyMemory', () => {
  const refusalOf = (work: () => void): string => {
    try {
      work();
    } catch (error) {
      if (error instanceof ApiError) return `${error.entry.status} ${error.entry.code}`;
      throw error;
    }
    return 'accepted';
  };

  it('returns 429 for more bytes of an organisation than eight bodies, until one has arrived', () => {
    const bodies = new BodyMemory({ maxBodyBytes: 100 });
    const accounts = Array.from({ length: 9 }, () => bodies.begin('org'));
    for (const account of accounts.slice(0, 8)) expect(refusalOf(() => account.add(100))).to.equal('accepted');
    const [first, last] = [accounts[0], accounts[8]];
    expect(refusalOf(() => last?.add(1))).to.equal('429 rate_limited');
    expect(refusalOf(() => bodies.begin('other').add(100))).to.equal('accepted');
    last?.end();
    first?.end();
    expect(refusalOf(() => bodies.begin('org').add(100))).to.equal('accepted');
    expect(refusalOf(() => bodies.begin('org').add(1))).to.equal('429 rate_limited');
  });

  it('returns 500 for more bytes of all organisations than 32 bodies', () => {
    const bodies = new BodyMemory({ maxBodyBytes: 100 });
    for (let organisation = 0; organisation < 4; organisation += 1)
      expect(refusalOf(() => bodies.begin(`org-${organisation}`).add(800))).to.equal('accepted');
    const late = bodies.begin('late');
    expect(refusalOf(() => late.add(1))).to.equal('500 internal_error');
    late.end();
  });
});
