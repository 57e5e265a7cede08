import { expect } from 'chai';
import { projectFile } from '../../../shared/process/project-root.js';
import { runProgram } from '../../support/run-program.js';

describe('readSettings', () => {
  for (const [name, entry] of [
    ['gateway', 'dist/api/main.js'],
    ['pool', 'dist/worker/main.js'],
    ['start', 'dist/scripts/start.js'],
  ] as const) {
    it(`names an unusable setting of ${name} in one log line and ends the process with 1`, async () => {
      const { exitCode, output } = await runProgram(process.execPath, [projectFile(entry)], {
        environment: { PORT: '99999' },
        limitMs: 25_000,
      });
      const lines = output.trimEnd().split('\n');
      expect(lines, output).to.have.length(1);
      expect(JSON.parse(lines[0] ?? '')).to.include({
        level: 'fatal',
        process: name,
        msg: 'could not start: PORT must be a whole number from 0 to 65535, but is "99999"',
      });
      expect(exitCode).to.equal(1);
    });
  }
});
