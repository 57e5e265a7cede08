import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { constants, getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createLogger } from '../../../shared/process/logger.js';
import { noteDescriptor } from '../../../worker/pool/crash-note.js';
import { WorkerPool } from '../../../worker/pool/pool.js';
import { eventually } from '../../support/eventually.js';

const modelKey = 'mdl:1';

/** Works like a worker, without a server: has a model in hand, says that it is ready and alive; leaves when it is told to. */
const program = (directory: string) => `
  import { appendFileSync, existsSync, writeSync } from 'node:fs';
  writeSync(${noteDescriptor}, '${modelKey}'.padEnd(512), 0);
  const at = (name) => ${JSON.stringify(`${directory}/`)} + name;
  appendFileSync(at('pids'), process.pid + '\\n');
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  const tell = (kind) => process.send({ kind, unreadable: 0 });
  tell('ready');
  setInterval(() => tell(existsSync(at('worn-' + process.pid)) ? 'worn' : 'alive'), 100);
`;

/** A pool looks at its processes once a second, and gives one that was silent for three a stand-in. */
const secondsUntilStandIn = 4;
/** Than a pool waits before it starts another process: to see that it does not. */
const longerThanDelaysMs = 1_500;

describe('the processes of a pool', () => {
  let directory: string;
  let pool: WorkerPool;
  let startedMs: number;
  let blamed: string[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-pool-'));
    const file = join(directory, 'worker.mjs');
    await writeFile(file, program(directory));
    blamed = [];
    pool = new WorkerPool({
      workers: 2,
      logger: createLogger('silent', 'pool'),
      onDeathOf: (model) => blamed.push(model),
      onSuspension: () => undefined,
      program: pathToFileURL(file),
    });
    startedMs = performance.now();
    await pool.start();
  });
  afterEach(async () => {
    await pool.stop();
    for (const pid of await livingPids()) process.kill(pid, 'SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });

  /** In the order in which they were started. */
  const startedPids = async () =>
    (await readFile(join(directory, 'pids'), 'utf8')).trim().split('\n').map(Number);
  const livingPids = async () => (await startedPids()).filter(isAlive);
  const nextOf = async (before: readonly number[]) => {
    const pids = await eventually(async () => {
      const all = await startedPids();
      expect(all).to.have.length(before.length + 1);
      expect(pool.readyCount).to.equal(2);
      return all;
    }, 5_000);
    return pids.at(-1) ?? 0;
  };

  it('are as many as there should be when one died while another got a stand-in, and none is left', async function () {
    this.timeout(30_000);
    const [first = 0, second = 0] = await startedPids();
    // Each of them dies quickly: the last is replaced after a second.
    let dying = first;
    for (let death = 0; death < 5; death += 1) {
      const before = await startedPids();
      process.kill(dying, 'SIGKILL');
      dying = await nextOf(before);
    }
    await pause(1_000 - ((performance.now() - startedMs) % 1_000) + 900);
    process.kill(second, 'SIGSTOP');
    // The look that finds it silent for three seconds falls into the second in which the other is away.
    await pause(secondsUntilStandIn * 1_000 - 1_400);
    process.kill(dying, 'SIGKILL');
    await pause(2_500);
    process.kill(second, 'SIGCONT');
    await eventually(async () => {
      expect(pool.readyCount).to.equal(2);
      expect(await livingPids())
        .to.have.length(2)
        .and.not.include(second);
    }, 5_000);
    expect(pool.deathCount).to.equal(6);
    await pool.stop();
    expect(await livingPids()).to.deep.equal([]);
  });

  it('hold a model to account when they crash, and not when they are killed from outside', async () => {
    const before = await startedPids();
    const [first = 0, second = 0] = before;
    process.kill(first, 'SIGKILL');
    const next = await nextOf(before);
    expect(blamed).to.deep.equal([]);
    process.kill(second, 'SIGSEGV');
    await nextOf([...before, next]);
    expect(blamed).to.deep.equal([modelKey]);
    expect(pool.deathCount).to.equal(2);
  });

  it('are as many as there should be when one was killed because it had been silent for too long', async function () {
    this.timeout(30_000);
    const [stuck = 0] = await startedPids();
    process.kill(stuck, 'SIGSTOP');
    await eventually(async () => expect(await startedPids()).to.have.length(3), 10_000);
    expect(getPriority(stuck), 'it leaves the cores to others').to.equal(constants.priority.PRIORITY_LOW);
    await eventually(() => expect(pool.deathCount).to.equal(1), 15_000);
    expect(blamed).to.deep.equal([modelKey]);
    await pause(longerThanDelaysMs);
    expect(await startedPids(), 'the stand-in stays, and no other comes').to.have.length(3);
    expect(pool.readyCount).to.equal(2);
  });

  it('are not taken for silent when the pool itself stood still', async () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, secondsUntilStandIn * 1_000);
    await pause(longerThanDelaysMs);
    expect(await startedPids()).to.have.length(2);
    expect([pool.readyCount, pool.deathCount]).to.deep.equal([2, 0]);
  });

  it('leave when they are worn, and are replaced at once; no death is counted', async () => {
    const before = await startedPids();
    const [worn = 0] = before;
    await appendFile(join(directory, `worn-${worn}`), '');
    await nextOf(before);
    expect(await livingPids())
      .to.have.length(2)
      .and.not.include(worn);
    expect(pool.deathCount).to.equal(0);
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
