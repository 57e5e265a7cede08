import { expect } from 'chai';
import { attackTest, representatives, testedAttacks } from '../support/attacks/attack-test.js';

const times = { seconds: 0.5, quietSeconds: 0.1 };

describe('the attacks of npm test', () => {
  it('exist under their names', () => {
    expect(testedAttacks.test.map(({ name }) => name)).to.have.members(representatives);
  });
});

attackTest(testedAttacks.test, times);
