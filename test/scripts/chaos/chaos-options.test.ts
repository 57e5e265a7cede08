import { expect } from 'chai';
import { readChaosOptions } from '../../../scripts/chaos/chaos-options.js';
import { UsageError } from '../../../scripts/servers/run-to-end.js';

describe('readChaosOptions', () => {
  it('defaults to two minutes and a random seed', () => {
    const options = readChaosOptions([]);
    expect(options).to.include({ minutes: 2, json: false });
    expect(options?.seed).to.satisfy(Number.isInteger);
    expect(options?.historyFile).to.contain(`history-${options?.seed}.jsonl`);
  });

  it('reads every option', () => {
    const args = ['--minutes', '0.5', '--seed', '0', '--cluster', '--history', 'a.jsonl', '--json'];
    expect(readChaosOptions(args)).to.deep.equal({
      minutes: 0.5,
      seed: 0,
      onRedisCluster: true,
      historyFile: 'a.jsonl',
      json: true,
    });
  });

  it('returns undefined for --help', () => {
    expect(readChaosOptions(['--help'])).to.equal(undefined);
  });

  for (const args of [
    ['--minutes', '0'],
    ['--minutes', 'two'],
    ['--minutes', '1441'],
    ['--seed', '1.5'],
    ['--seed', '-1'],
    ['--seed', 'x'],
    ['--speed'],
    ['more'],
  ])
    it(`throws a UsageError for ${args.join(' ')}`, () => {
      expect(() => readChaosOptions(args)).to.throw(UsageError);
    });
});
