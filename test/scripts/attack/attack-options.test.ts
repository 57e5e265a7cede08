import { expect } from 'chai';
import { readAttackOptions, usageText } from '../../../scripts/attack/attack-options.js';
import { attacks } from '../../../scripts/attack/attacks/table.js';
import { UsageError } from '../../../scripts/servers/run-to-end.js';

describe('the command line of npm run attack', () => {
  it('runs all attacks for eight seconds without options', () => {
    expect(readAttackOptions([])).to.deep.equal({ only: [], seconds: 8, quietSeconds: 4, json: false });
  });

  it('runs the named attacks for the given time', () => {
    const args = ['--only', 'marks', '--only', 'reads', '--seconds', '1.5', '--json'];
    const expected = { only: ['marks', 'reads'], seconds: 1.5, quietSeconds: 0.75, json: true };
    expect(readAttackOptions(args)).to.deep.equal(expected);
  });

  it('prints the usage for --help and every attack for --list', () => {
    expect(readAttackOptions(['--help'])).to.equal(usageText);
    const listed = String(readAttackOptions(['--list']))
      .trimEnd()
      .split('\n');
    expect(listed).to.have.length(attacks.length);
    for (const [index, { name, does }] of attacks.entries()) {
      expect(listed[index]).to.satisfy((line: string) => line.startsWith(`${name} `) && line.endsWith(` ${does}`));
    }
  });

  it('refuses unknown attacks, times and options with a reason', () => {
    for (const [args, reason] of [
      [['--only', 'nothing'], /no attack "nothing"/],
      [['--seconds', '0'], /--seconds must be/],
      [['--seconds', 'ten'], /--seconds must be/],
      [['--minutes', '2'], /--minutes/],
    ] as const)
      expect(() => readAttackOptions(args)).to.throw(UsageError, reason);
  });

  it('has at least thirty attacks with different names', () => {
    expect(attacks.length).to.be.at.least(30);
    expect(new Set(attacks.map(({ name }) => name)).size).to.equal(attacks.length);
  });
});
