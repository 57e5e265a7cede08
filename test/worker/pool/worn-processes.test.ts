import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createLogger } from '../../../shared/process/logger.js';
import { poolTimings, WorkerPool } from '../../../worker/pool/pool.js';
import { eventually } from '../../support/eventually.js';

/**
 * Behaves like a worker without servers. A file `worn-PID` wears it out, `refuse-starts` ends those that start, and
 * `delay-starts` delays them. It takes 200 ms to leave.
 */
const program = (directory: string) => `
  import { appendFileSync, existsSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  const at = (name) => ${JSON.stringify(`${directory}/`)} + name;
  const note = (file) => appendFileSync(at(file), process.pid + ' ' + process.argv[2] + '\\n');
  const leave = (why) => { note(why); setTimeout(() => process.exit(0), 200); };
  note('started');
  if (existsSync(at('refuse-starts'))) process.exit(1);
  if (existsSync(at('delay-starts'))) await pause(1_500);
  process.on('SIGTERM', () => leave('asked-to-leave'));
  process.on('message', ({ kind }) => leave(kind));
  process.on('disconnect', () => process.exit(0));
  const send = (kind) => process.send({ kind, unreadable: 0, unseen: 0, loads: 0, hits: 0 });
  send('ready');
  setInterval(() => send(existsSync(at('worn-' + process.pid)) ? 'worn' : 'heartbeat'), 50);
`;

interface Noted {
  readonly pid: number;
  readonly id: string;
}

const workers = 2;
const withinMs = 20_000;

describe('the worn processes of a pool', () => {
  let directory: string;
  let pool: WorkerPool;
  let ended: string[];
  /** The fewest and the most processes at a time since the start of the pool. */
  let minReady: number;
  let maxLiving: number;
  let watching: NodeJS.Timeout;

  const noted = async (file: string): Promise<Noted[]> => {
    const text = await readFile(join(directory, file), 'utf8').catch(() => '');
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => ({ pid: Number(line.split(' ')[0]), id: line.split(' ')[1] ?? '' }));
  };
  /** In the order of their starts. */
  const started = () => noted('started');
  const living = async () => (await started()).filter(({ pid }) => isAlive(pid));
  const ask = (name: string) => writeFile(join(directory, name), '');
  const wear = ({ pid }: Noted) => ask(`worn-${pid}`);
  const first = async (): Promise<Noted> => {
    const [found] = await started();
    if (found === undefined) throw new Error('no process was started');
    return found;
  };
  const settled = (count: number, expected = workers) =>
    eventually(async () => {
      expect(await started()).to.have.length(count);
      expect(await living()).to.have.length(expected);
      expect(pool.readyCount).to.equal(expected);
    }, withinMs);

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-worn-'));
    const file = join(directory, 'worker.mjs');
    await writeFile(file, program(directory));
    ended = [];
    pool = new WorkerPool({
      lane: 'batches',
      workers,
      timings: { ...poolTimings, maxReplacementDelayMs: 200 },
      logger: createLogger('silent', 'pool'),
      onChunkDeath: () => expect.fail('a chunk was blamed'),
      onExit: (id) => ended.push(id),
      program: pathToFileURL(file),
    });
    await pool.start();
    [minReady, maxLiving] = [workers, workers];
    watching = setInterval(() => {
      minReady = Math.min(minReady, pool.readyCount);
      void living().then(({ length }) => {
        maxLiving = Math.max(maxLiving, length);
      });
    }, 5);
  });
  afterEach(async () => {
    clearInterval(watching);
    await pool.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('leave when a successor with the same id is ready, and no death is counted', async () => {
    const worn = await first();
    await ask('delay-starts');
    await wear(worn);
    await settled(3);
    const [, other, successor] = await started();
    expect(successor?.id).to.equal(worn.id);
    expect(await living()).to.deep.equal([other, successor]);
    expect(await noted('succeeded')).to.deep.equal([worn]);
    expect(await noted('asked-to-leave')).to.deep.equal([]);
    expect(minReady, 'processes that took jobs').to.equal(workers);
    expect([pool.deathCount, ended]).to.deep.equal([0, []]);
  });

  it('are replaced one after the other', async () => {
    const before = await started();
    await Promise.all(before.map(wear));
    await settled(4);
    expect((await living()).map(({ id }) => id)).to.have.members(before.map(({ id }) => id));
    expect([minReady, maxLiving]).to.deep.equal([workers, workers + 1]);
    expect(ended).to.deep.equal([]);
  });

  it('stay while their successors cannot start', async () => {
    const worn = await first();
    await ask('refuse-starts');
    await wear(worn);
    await eventually(async () => expect(await started()).to.have.length.above(4), withinMs);
    expect(await living()).to.deep.include(worn);
    expect(pool.readyCount).to.equal(workers);
    await rm(join(directory, 'refuse-starts'));
    await eventually(async () => {
      expect(await living())
        .to.have.length(workers)
        .and.not.deep.include(worn);
      expect(pool.readyCount).to.equal(workers);
    }, withinMs);
    expect((await living()).map(({ id }) => id)).to.include(worn.id);
    expect(minReady).to.equal(workers);
    expect(ended).to.deep.equal([]);
  });

  it('are succeeded by the process that has begun to start, when they die meanwhile', async () => {
    const worn = await first();
    await ask('delay-starts');
    await wear(worn);
    await eventually(async () => expect(await started()).to.have.length(3), withinMs);
    process.kill(worn.pid, 'SIGKILL');
    await settled(3);
    await pause(500); // longer than the delay of a replacement
    await settled(3);
    expect([pool.deathCount, ended]).to.deep.equal([1, [worn.id]]);
  });

  it('leave with their successors when the pool needs no processes', async () => {
    await ask('delay-starts');
    await wear(await first());
    await eventually(async () => expect(await started()).to.have.length(3), withinMs);
    pool.resize(0);
    await settled(3, 0);
    expect(pool.deathCount).to.equal(0);
  });

  it('are asked to leave once, when the pool stops while they leave to a successor', async () => {
    const worn = await first();
    await wear(worn);
    await eventually(async () => expect(await noted('succeeded')).to.deep.equal([worn]), withinMs);
    await pool.stop();
    expect(await living()).to.deep.equal([]);
    expect(await noted('asked-to-leave')).to.not.deep.include(worn);
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
