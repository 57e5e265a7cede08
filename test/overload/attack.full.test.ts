import { attackTest, testedAttacks } from '../support/attacks/attack-test.js';

attackTest(testedAttacks.full, { seconds: 0.5, quietSeconds: 0.1 });
