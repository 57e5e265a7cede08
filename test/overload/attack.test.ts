import { attackTest } from '../support/attacks/attack-test.js';

attackTest({ seconds: 0.7, quietSeconds: 0.1, judgesTimes: false });
