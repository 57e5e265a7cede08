import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { batchNiceness, lowNiceness } from '../../../shared/process/low-priority.js';
import { projectFile } from '../../../shared/process/project-root.js';

const run = promisify(execFile);

/** The priority of a process that began at one and lowered it to another. */
async function lowered(from: number, to: number): Promise<number> {
  const module = projectFile('dist/shared/process/low-priority.js');
  const script = `import { lowerPriority } from ${JSON.stringify(module)};
    import { getPriority } from 'node:os';
    lowerPriority(${to});
    console.log(getPriority());`;
  const node = [process.execPath, '--input-type=module', '--eval', script];
  const { stdout } = await run('nice', ['-n', `${from}`, ...node]);
  return Number(stdout);
}

describe('lowerPriority', () => {
  it('leaves a process as it is that has a lower priority already, and lowers any other', async () => {
    expect(await lowered(lowNiceness, batchNiceness)).to.equal(lowNiceness);
    expect(await lowered(0, lowNiceness)).to.equal(lowNiceness);
  });
});
