import { expect } from 'chai';
import { attackFamilies } from '../../scripts/attack/attacks/table.js';
import { attackTest, representatives, testedAttacks } from '../support/attacks/attack-test.js';

const times = { seconds: 0.5, quietSeconds: 0.1 };

describe('the attacks of npm test', () => {
  it('exist under their names', () => {
    expect(testedAttacks.test.map(({ name }) => name)).to.have.members(representatives);
  });

  it('are at least one of each family', () => {
    for (const [family, attacks] of Object.entries(attackFamilies))
      expect(
        attacks.some(({ name }) => representatives.includes(name)),
        family,
      ).to.equal(true);
  });
});

attackTest(testedAttacks.test, times);
