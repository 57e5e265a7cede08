import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createLogger } from '../../../shared/process/logger.js';
import { BulkPool } from '../../../worker/pool/bulk-pool.js';
import { type ChunkInHand, noteDescriptor } from '../../../worker/pool/crash-note.js';
import type { DeathCause } from '../../../worker/pool/quarantine.js';
import { eventually } from '../../support/eventually.js';
import { leaveOut } from '../../support/leave-out.js';

const inHand: ChunkInHand = { chunk: 'chunk', partition: 0, gateway: 'gw', model: 'mdl', version: '1' };

/**
 * Behaves like a worker without servers. A file `hang-PID` lets its event loop compute for ever, `wait-PID` lets it
 * wait without computing. At SIGTERM it finishes a chunk for 200 ms.
 */
const program = (directory: string) => `
  import { appendFileSync, existsSync, writeSync } from 'node:fs';
  writeSync(${noteDescriptor}, '${JSON.stringify(inHand)}', 0);
  const at = (name) => ${JSON.stringify(`${directory}/`)} + name;
  const isAsked = (name) => existsSync(at(name + '-' + process.pid));
  appendFileSync(at('started'), process.pid + ' ' + process.argv[3] + '\\n');
  process.on('SIGTERM', () => setTimeout(() => {
    appendFileSync(at('finished'), process.pid + '\\n');
    process.exit(0);
  }, 200));
  process.on('disconnect', () => process.exit(0));
  const send = (kind) => process.send({ kind, unreadable: 0, unseen: 0, loads: 1, hits: 2 });
  send('ready');
  setInterval(() => {
    if (isAsked('hang')) for (;;);
    if (isAsked('wait')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${2 * 1_500});
    send('heartbeat');
  }, 50);
`;

const timings = {
  checkIntervalMs: 50,
  hangLimitMs: 1_500, // a busy machine delays a heartbeat by less
  minReplacementDelayMs: 10,
  maxReplacementDelayMs: 200,
  healthyMs: 10_000,
  killAfterMs: 2_000,
};
const demand = { pollEveryMs: 20, idleMs: 400 };
const withinMs = 8_000;

describe('the bulk workers of a pool', () => {
  let directory: string;
  let pool: BulkPool;
  let polls: number;
  let isDemanded: () => boolean;
  let blamed: (readonly [DeathCause, ChunkInHand])[];

  async function startPool(workers: number): Promise<void> {
    const file = join(directory, 'worker.mjs');
    await writeFile(file, program(directory));
    pool = new BulkPool({
      workers,
      timings,
      demand,
      isDemanded: async () => {
        polls += 1;
        return isDemanded();
      },
      logger: createLogger('silent', 'pool'),
      onChunkDeath: (chunk, cause) => blamed.push([cause, chunk]),
      program: pathToFileURL(file),
    });
    await pool.start();
  }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-bulk-pool-'));
    [polls, isDemanded, blamed] = [0, () => false, []];
  });
  afterEach(async () => {
    await pool.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const lines = async (name: string) => (await readFile(join(directory, name), 'utf8').catch(() => '')).split('\n');
  const started = async () =>
    (await lines('started')).filter((line) => line !== '').map((line) => line.split(' ') as [string, string]);
  const ready = (count: number) => eventually(() => expect(pool.readyCount).to.equal(count), withinMs);
  const polled = async (times: number) => {
    const before = polls;
    await eventually(() => expect(polls).to.be.above(before + times), withinMs);
  };

  it('are not started without a demand', async () => {
    await startPool(2);
    await polled(5);
    expect(await started()).to.deep.equal([]);
    expect([pool.wantedCount, pool.readyCount]).to.deep.equal([0, 0]);
  });

  it('are never started when there shall be none, whatever the demand', async () => {
    isDemanded = () => true;
    await startPool(0);
    await pause(10 * demand.pollEveryMs);
    expect([polls, pool.wantedCount]).to.deep.equal([0, 0]);
  });

  it('are started on demand for the lane bulk, and finish their chunks and end after the last demand', async () => {
    let demandedMs = 0;
    isDemanded = () => {
      demandedMs = performance.now();
      return true;
    };
    await startPool(2);
    await ready(2);
    await polled(Math.ceil((2 * demand.idleMs) / demand.pollEveryMs));
    const pids = (await started()).map(([pid]) => pid);
    expect((await started()).map(([, role]) => role)).to.deep.equal(['bulk', 'bulk']);
    isDemanded = () => false;
    await ready(0);
    expect(performance.now() - demandedMs).to.be.at.least(demand.idleMs);
    await eventually(
      async () => expect((await lines('finished')).filter((line) => line !== '')).to.have.members(pids),
      withinMs,
    );
    expect([pool.wantedCount, pool.deathCount]).to.deep.equal([0, 0]);
  });

  it('are started again by the next demand, also while the last ones are leaving', async () => {
    isDemanded = () => true;
    await startPool(2);
    await ready(2);
    isDemanded = () => false;
    await eventually(() => expect(pool.wantedCount).to.equal(0), withinMs);
    isDemanded = () => true;
    await eventually(async () => {
      expect(await started()).to.have.length(4);
      expect(pool.readyCount).to.equal(2);
    }, withinMs);
    expect(blamed).to.deep.equal([]);
  });

  it('stay while Redis does not answer', async () => {
    isDemanded = () => true;
    await startPool(1);
    await ready(1);
    isDemanded = () => {
      throw new Error('Redis is away');
    };
    await polled(Math.ceil((2 * demand.idleMs) / demand.pollEveryMs));
    expect(await started()).to.have.length(1);
    expect(pool.readyCount).to.equal(1);
  });

  it('are replaced when they crash, and the chunk in hand is blamed', async () => {
    isDemanded = () => true;
    await startPool(1);
    await ready(1);
    process.kill(Number((await started())[0]?.[0]), 'SIGSEGV');
    await eventually(async () => expect(await started()).to.have.length(2), withinMs);
    await ready(1);
    expect(blamed).to.deep.equal([['crash', inHand]]);
    expect(pool.deathCount).to.equal(1);
  });

  it('are killed and replaced when they compute for the hang limit, and the chunk in hand is blamed', async () => {
    isDemanded = () => true;
    await startPool(1);
    await ready(1);
    await appendFile(join(directory, `hang-${(await started())[0]?.[0]}`), '');
    await eventually(async () => expect(await started()).to.have.length(2), 20_000);
    expect(blamed).to.deep.equal([['hang', inHand]]);
  });

  it('live on when they are silent for two hang limits without computing, as on a busy machine', async function () {
    if (process.platform !== 'linux') leaveOut(this, 'only Linux reports the CPU time of a process', 'run it on Linux');
    this.timeout(30_000);
    isDemanded = () => true;
    await startPool(1);
    await ready(1);
    const file = join(directory, `wait-${(await started())[0]?.[0]}`);
    await appendFile(file, '');
    await pause(3 * timings.hangLimitMs); // two waits have begun
    await rm(file);
    expect(await started()).to.have.length(1);
    expect(pool.deathCount).to.equal(0);
  });
});
