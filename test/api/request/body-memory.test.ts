import { expect } from 'chai';
import { BodyMemory } from '../../../api/request/body-memory.js';
import { ApiError } from '../../../shared/contract/errors.js';

describe('bodies that arrive', () => {
  const refusalOf = (work: () => void): string => {
    try {
      work();
    } catch (error) {
      if (error instanceof ApiError) return `${error.entry.status} ${error.entry.code}`;
      throw error;
    }
    return 'taken';
  };

  it('are refused beyond eight large ones of one organisation, until one has arrived', () => {
    const bodies = new BodyMemory({ maxBodyBytes: 100 });
    const accounts = Array.from({ length: 9 }, () => bodies.begin('org'));
    for (const account of accounts.slice(0, 8)) expect(refusalOf(() => account.add(100))).to.equal('taken');
    const [first, last] = [accounts[0], accounts[8]];
    expect(refusalOf(() => last?.add(1))).to.equal('429 rate_limited');
    expect(refusalOf(() => bodies.begin('other').add(100))).to.equal('taken');
    last?.end();
    first?.end();
    expect(refusalOf(() => bodies.begin('org').add(100))).to.equal('taken');
    expect(refusalOf(() => bodies.begin('org').add(1))).to.equal('429 rate_limited');
  });

  it('are refused beyond the limit of all organisations', () => {
    const bodies = new BodyMemory({ maxBodyBytes: 100 });
    for (let organisation = 0; organisation < 4; organisation += 1)
      expect(refusalOf(() => bodies.begin(`org-${organisation}`).add(800))).to.equal('taken');
    const late = bodies.begin('late');
    expect(refusalOf(() => late.add(1))).to.equal('500 internal_error');
    late.end();
  });
});
