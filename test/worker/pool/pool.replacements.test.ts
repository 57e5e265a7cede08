import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createLogger } from '../../../shared/process/logger.js';
import { type ChunkInHand, noteDescriptor } from '../../../worker/pool/crash-note.js';
import { WorkerPool } from '../../../worker/pool/pool.js';
import type { DeathCause } from '../../../worker/pool/quarantine.js';
import { eventually } from '../../support/eventually.js';
import { leaveOut } from '../../support/leave-out.js';
import { itInFull } from '../../support/tier.js';

const inHand: ChunkInHand = { chunk: 'chunk', partition: 0, gateway: 'gw', model: 'mdl', version: '1' };

/** Behaves like a worker without servers. A file `hang-PID` lets its event loop hang. */
const program = (directory: string) => `
  import { appendFileSync, existsSync, writeSync } from 'node:fs';
  writeSync(${noteDescriptor}, '${JSON.stringify(inHand)}', 0);
  const at = (name) => ${JSON.stringify(`${directory}/`)} + name;
  const isAsked = (name) => existsSync(at(name + '-' + process.pid));
  appendFileSync(at('pids'), process.pid + '\\n');
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  const send = (kind) => process.send({ kind, unreadable: 0, unseen: 0, loads: 1, hits: 2 });
  send('ready');
  setInterval(() => {
    if (isAsked('hang')) for (;;);
    send('heartbeat');
  }, 50);
`;

const timings = {
  checkIntervalMs: 300, // four times as long, the pool counts as held up
  hangLimitMs: 2_000, // a busy machine delays a heartbeat by less
  minReplacementDelayMs: 10,
  maxReplacementDelayMs: 200,
  healthyMs: 10_000,
  killAfterMs: 2_000,
};
/** Exceeds every delay after which the pool would start another process. */
const settledMs = 500;
const withinMs = 40_000;

describe('the processes of a pool', function () {
  this.timeout(60_000);
  let directory: string;
  let pool: WorkerPool;
  let blamed: (readonly [DeathCause, ChunkInHand])[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-pool-'));
    const file = join(directory, 'worker.mjs');
    await writeFile(file, program(directory));
    blamed = [];
    pool = new WorkerPool({
      lane: 'batches',
      workers: 2,
      timings,
      logger: createLogger('silent', 'pool'),
      onChunkDeath: (chunk, cause) => blamed.push([cause, chunk]),
      program: pathToFileURL(file),
    });
    await pool.start();
  });
  afterEach(async () => {
    await pool.stop();
    for (const pid of await livingPids()) process.kill(pid, 'SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });

  /** In the order of their starts. */
  const startedPids = async () => (await readFile(join(directory, 'pids'), 'utf8')).trim().split('\n').map(Number);
  const livingPids = async () => (await startedPids()).filter(isAlive);
  /** Waits until so many processes have been started and two take jobs. */
  const replaced = (started: number) =>
    eventually(async () => {
      expect(await startedPids()).to.have.length(started);
      expect(pool.readyCount).to.equal(2);
    }, withinMs);
  const letHang = (pid: number) => appendFile(join(directory, `hang-${pid}`), '');

  it('are replaced when they crash, and the chunk in hand is blamed', async () => {
    const [crashing = 0] = await startedPids();
    process.kill(crashing, 'SIGSEGV');
    await replaced(3);
    expect(blamed).to.deep.equal([['crash', inHand]]);
    expect(pool.deathCount).to.equal(1);
  });

  it('are replaced when they are killed from outside, and no chunk is blamed', async () => {
    const [killed = 0] = await startedPids();
    process.kill(killed, 'SIGKILL');
    await replaced(3);
    expect(blamed).to.deep.equal([]);
    expect(pool.deathCount).to.equal(1);
  });

  it('are killed once and replaced when their event loop hangs, and the chunk in hand is blamed', async () => {
    const [hanging = 0] = await startedPids();
    await letHang(hanging);
    await replaced(3);
    await pause(settledMs);
    expect(await livingPids())
      .to.have.length(2)
      .and.not.include(hanging);
    expect(blamed).to.deep.equal([['hang', inHand]]);
    expect(pool.deathCount).to.equal(1);
  });

  it('are killed and replaced when they are stopped, and no chunk is blamed', async function () {
    if (process.platform !== 'linux') leaveOut(this, 'only Linux says whether a process is stopped', 'run it on Linux');
    const [stopped = 0] = await startedPids();
    process.kill(stopped, 'SIGSTOP');
    await replaced(3);
    expect(await livingPids())
      .to.have.length(2)
      .and.not.include(stopped);
    expect(blamed).to.deep.equal([]);
  });

  itInFull('are two again when one dies while the other hangs, and are gone when the pool stops', async () => {
    const [first = 0, second = 0] = await startedPids();
    await letHang(second);
    process.kill(first, 'SIGKILL');
    await replaced(4);
    await pause(settledMs);
    expect(await livingPids()).to.have.length(2);
    expect(pool.deathCount).to.equal(2);
    await pool.stop();
    expect(await livingPids()).to.deep.equal([]);
  });

  it('live on when the pool itself was held up for longer than the hang limit', async () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * timings.hangLimitMs);
    await pause(settledMs);
    expect(await startedPids()).to.have.length(2);
    expect([pool.readyCount, pool.deathCount]).to.deep.equal([2, 0]);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
