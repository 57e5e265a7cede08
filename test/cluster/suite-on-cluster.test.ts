import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';
import { runProgram } from '../support/run-program.js';

/** Files of test/integration that are run again: those of the quota, and of what scoring keeps in Redis. */
const files = [
  'quota-concurrency',
  'quota-month',
  'quota-sweep',
  'score-records',
  'rate-limit',
  'webhook-coalescing',
];
const limitMs = 240_000;

describe('the integration tests of quota and scoring', () => {
  it('pass on a Redis Cluster of three nodes', async function () {
    this.timeout(limitMs + 10_000);
    const { exitCode, output } = await runProgram(
      process.execPath,
      [
        projectFile('node_modules/mocha/bin/mocha.js'),
        ...['--require', './dist/test/support/service/on-redis-cluster.js', '--reporter', 'dot'],
        ...files.map((file) => `dist/test/integration/${file}.test.js`),
      ],
      { directory: projectFile('.'), limitMs },
    );
    expect(exitCode, output).to.equal(0);
    expect(Number(/(\d+) passing/.exec(output)?.[1])).to.be.above(30);
  });
});
