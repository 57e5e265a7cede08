import { expect } from 'chai';
import { testFiles } from '../../scripts/test/test-files.js';
import { projectFile } from '../../shared/process/project-root.js';
import { runProgram } from '../support/run-program.js';

/** Tests of the HTTP API that run again: those of usage and limits, and of what scoring keeps in Redis. */
const chosen =
  /^dist\/test\/http\/(quota\/|rate-limit\/|usage\/|score\/rows\/(batches|latest-scores)|webhooks\/concurrent).*\.test\.js$/;
const limitMs = 300_000;

describe('the HTTP tests of usage, limits and scoring', () => {
  it('pass on a Redis Cluster of three nodes', async function () {
    this.timeout(limitMs + 10_000);
    const files = (await testFiles()).filter((file) => chosen.test(file) && !file.endsWith('.full.test.js'));
    const { exitCode, output } = await runProgram(
      process.execPath,
      [
        projectFile('node_modules/mocha/bin/mocha.js'),
        ...['--require', './dist/test/support/service/on-redis-cluster.js', '--reporter', 'dot', ...files],
      ],
      { directory: projectFile('.'), limitMs },
    );
    expect(exitCode, output).to.equal(0);
    expect(Number(/(\d+) passing/.exec(output)?.[1])).to.be.above(30);
  });
});
