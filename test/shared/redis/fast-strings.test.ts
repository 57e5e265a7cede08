import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { projectFile } from '../../../shared/process/project-root.js';

const run = promisify(execFile);

const packages = ['ioredis', 'bullmq', 'mongodb', 'koa', 'pino', 'onnxruntime-node'];

/** The program of a new process. It writes whether V8 has the methods of strings in a fast form, before and after. */
const program = `
  const seen = [];
  const look = () => seen.push(%HasFastProperties(String.prototype));
  look();
  for (const name of ${JSON.stringify(packages)}) await import(name);
  look();
  const { connectRedis } = await import(${JSON.stringify(projectFile('dist/shared/redis/connect.js'))});
  const logger = { warn: () => undefined, info: () => undefined };
  connectRedis({ url: 'redis://127.0.0.1:1', name: 'test', kind: 'commands', logger }).disconnect();
  look();
  process.stdout.write(JSON.stringify(seen));`;

describe('connectRedis', () => {
  it('makes the methods of strings fast again, which the import of ioredis made slow', async () => {
    const options = ['--allow-natives-syntax', '--input-type=module', '--eval', program];
    const { stdout } = await run(process.execPath, options, { cwd: projectFile('.') });
    expect(JSON.parse(stdout)).to.deep.equal([true, false, true]);
  });
});
