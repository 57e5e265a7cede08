import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../../shared/process/project-root.js';
import { runProgram } from '../../support/run-program.js';

const moduleOf = (path: string): string => JSON.stringify(pathToFileURL(projectFile(`dist/${path}`)).href);

describe('a pool', () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-pool-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  /** Runs a program with a pool of one worker that cannot start; `rest` is the rest of the program. */
  async function run(rest: string, settings: Readonly<Record<string, string>> = {}) {
    const program = `
      import { setTimeout as pause } from 'node:timers/promises';
      import { createLogger } from ${moduleOf('shared/process/logger.js')};
      import { poolTimings, WorkerPool } from ${moduleOf('worker/pool/pool.js')};
      const blamed = [];
      const onChunkDeath = (inHand) => blamed.push(inHand);
      const logger = createLogger('error', 'pool');
      const pool = new WorkerPool({ lane: 'batches', workers: 1, timings: poolTimings, logger, onChunkDeath });
      void pool.start();
      ${rest}`;
    const environment = {
      REDIS_URL: '',
      MONGODB_URL: '',
      LOG_LEVEL: 'silent',
      TMPDIR: directory,
      ...settings,
    };
    const file = join(directory, 'run-pool.mjs');
    await writeFile(file, program);
    return await runProgram(process.execPath, [file], { environment, limitMs: 15_000 });
  }
  const untilDeath = 'while (pool.deathCount === 0) await pause(5);';

  it('blames no chunk for a worker that cannot start', async () => {
    const ended = await run(`${untilDeath} await pool.stop(); console.log(JSON.stringify(blamed)); process.exit();`);
    expect(ended.exitCode).to.equal(0);
    expect(ended.output)
      .to.match(/^\[\]$/m)
      .and.include('a worker died and is replaced');
  });

  it('leaves no files behind when it is killed', async () => {
    const ended = await run(`${untilDeath} process.kill(process.pid, 'SIGKILL');`);
    expect(ended.exitCode).to.equal(undefined);
    expect(await readdir(directory)).to.deep.equal(['run-pool.mjs']);
  });

  it('logs why it cannot create a crash note, and can still be stopped', async () => {
    const TMPDIR = join(directory, 'missing');
    const ended = await run('await pool.stop(); process.exit();', { TMPDIR });
    expect(ended.exitCode).to.equal(0);
    expect(ended.output).to.include('cannot create crash note in TMPDIR').and.include('ENOENT');
  });
});
