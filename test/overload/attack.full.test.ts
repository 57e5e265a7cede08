import { attackTest } from '../support/attacks/attack-test.js';

attackTest({ seconds: 4, quietSeconds: 2, judgesTimes: true });
