import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../shared/project-root.js';
import { runProgram } from '../support/run-program.js';

const moduleOf = (path: string): string => JSON.stringify(pathToFileURL(projectFile(`dist/${path}`)).href);

describe('a pool', () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-pool-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('does not blame the model that an earlier pool of its process id was running for a worker that cannot start', async () => {
    const program = `
      import { writeFileSync } from 'node:fs';
      import { setTimeout as pause } from 'node:timers/promises';
      import { createLogger } from ${moduleOf('shared/logger.js')};
      import { inHandFile } from ${moduleOf('worker/in-hand.js')};
      import { WorkerPool } from ${moduleOf('worker/pool.js')};
      const blamed = [];
      const onDeathOf = (modelKey) => blamed.push(modelKey);
      const logger = createLogger('silent', 'pool');
      writeFileSync(inHandFile(0), 'mdl_old:1');
      const pool = new WorkerPool({ workers: 1, logger, onDeathOf, onSuspicion: () => undefined });
      void pool.start();
      while (pool.deathCount === 0) await pause(5);
      await pool.stop();
      console.log(JSON.stringify(blamed));
      process.exit();`;
    const environment = { REDIS_URL: '', MONGODB_URL: '', LOG_LEVEL: 'silent', TMPDIR: directory };
    const file = join(directory, 'run-pool.mjs');
    await writeFile(file, program);
    const ended = await runProgram(process.execPath, [file], { environment, limitMs: 15_000 });
    expect(ended).to.deep.equal({ exitCode: 0, output: '[]\n' });
  });
});
