import { attackTest } from '../support/attacks/attack-test.js';

attackTest({ seconds: 0.5, quietSeconds: 0.1 });
