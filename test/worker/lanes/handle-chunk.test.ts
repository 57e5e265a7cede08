import { once } from 'node:events';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { createLogger } from '../../../shared/process/logger.js';
import { modelStrikesKey, payloadKey, replyStreamKey } from '../../../shared/redis/keys.js';
import { ChunkAbandoned } from '../../../worker/lanes/handle-chunk.js';
import { eventually } from '../../support/eventually.js';
import { gateway, type LaneRig, laneRig, rigTimings } from '../../support/lane-rig.js';

describe('the chunk of a job', () => {
  const { outages } = createLogger('silent', 'test');
  let rig: LaneRig;
  let begun: string[];
  let scored: string[];
  let noted: unknown[];
  let logged: string;
  /** Runs while a chunk is scored. */
  let work: (signal: AbortSignal) => Promise<unknown>;

  beforeEach(async () => {
    [begun, scored, noted, logged] = [[], [], [], ''];
    work = async () => undefined;
    const log = new Writable({
      write(line, _encoding, done) {
        logged += String(line);
        done();
      },
    });
    const begin =
      ({ commands }: { readonly commands: Redis }) =>
      ({ chunk }: { readonly chunk: string }) => {
        begun.push(chunk);
        noted.push(rig.crashNote.read());
        const asked = commands.echo(chunk);
        return async (signal: AbortSignal) => {
          scored.push(await asked);
          await work(signal);
          return { chunk, parts: [] };
        };
      };
    // A look for stalled jobs would be a write of its own.
    const timings = { ...rigTimings, stalledCheckMs: 60_000 };
    rig = await laneRig(begin, { logger: Object.assign(pino(log), { outages }), timings });
  });
  afterEach(() => rig.close());

  const replies = () => rig.redis.xlen(replyStreamKey(gateway));
  /** Sends a chunk and waits until its job has ended. */
  async function ended(...sent: Parameters<LaneRig['send']>): Promise<void> {
    const completed = once(rig.worker, 'completed');
    await rig.send(...sent);
    await completed;
    expect(await rig.queue.getJobCounts('wait', 'active', 'delayed', 'failed', 'completed')).to.deep.equal({
      wait: 0,
      active: 0,
      delayed: 0,
      failed: 0,
      completed: 0,
    });
  }

  for (const [where, inJob] of [
    ['in its job', true],
    ['under its own key', false],
  ] as const) {
    describe(`with its payload ${where}`, () => {
      it('is scored and answered once', async () => {
        await ended('one', { inJob });
        expect(scored).to.deep.equal(['one']);
        expect(await replies()).to.equal(1);
        expect(await rig.redis.exists(payloadKey({ partition: 0, chunk: 'one' }))).to.equal(0);
      });

      it('is named in the crash note while its payload is read, and not while it waits', async () => {
        work = async () => noted.push(rig.crashNote.read());
        await ended('one', { inJob });
        expect(noted).to.deep.equal([{ chunk: 'one', partition: 0, gateway, model: 'mdl', version: '1' }, undefined]);
      });

      it('is neither scored nor answered when no gateway awaits it', async () => {
        await ended('one', { inJob, isAwaited: false });
        expect(scored).to.deep.equal([]);
        expect(await replies()).to.equal(0);
      });

      it('is answered with model_unavailable, unscored, when its version is quarantined', async () => {
        await rig.redis.hset(modelStrikesKey, 'mdl:1', `2@${Date.now()}@${Date.now() + 60_000}`);
        await ended('one', { inJob });
        expect(scored).to.deep.equal([]);
        const [[, [, reply]]] = (await rig.redis.xrange(replyStreamKey(gateway), '-', '+')) as [[string, string[]]];
        expect(JSON.parse(reply ?? '')).to.have.nested.property('failure.code', 'model_unavailable');
      });
    });
  }

  it('is abandoned, and not answered, when its gateway no longer awaits it', async () => {
    let reason: unknown;
    work = async (signal) => {
      await rig.redis.del(payloadKey({ partition: 0, chunk: 'one' }));
      await once(signal, 'abort');
      reason = signal.reason;
      throw reason;
    };
    await ended('one');
    expect(reason).to.be.instanceOf(ChunkAbandoned);
    expect(await replies()).to.equal(0);
    expect(logged).not.to.include('could not be scored');
  });

  it('is begun with in the write that asks whether a gateway awaits it', async () => {
    const writes = await writesOf(rig.commands, () => ended('one'));
    expect(begun).to.deep.equal(['one']);
    expect(writes).to.deep.equal([['echo', 'get', 'hgetall']]);
  });

  it('is answered in the write that ends its job', async () => {
    await ended('one'); // Redis has BullMQ's scripts cached from now on
    const writes = await writesOf(rig.connection, () => ended('another'));
    expect(writes).to.deep.include(['xadd', 'pexpire', 'del', 'evalsha']);
    expect(writes.flat().filter((command) => command === 'xadd')).to.have.length(1);
  });

  it('ends its job and logs a warning when Redis refuses the reply', async () => {
    await rig.redis.set(replyStreamKey(gateway), 'no stream');
    await ended('one');
    expect(scored).to.deep.equal(['one']);
    await eventually(() => expect(logged).to.match(/chunk reply failed/));
    await rig.redis.del(replyStreamKey(gateway));
    await ended('another');
    expect(await replies()).to.equal(1);
  });
});

/** The names of the commands in each write of a connection while `work` runs. */
async function writesOf({ stream }: Redis, work: () => Promise<void>): Promise<string[][]> {
  const writes: string[][] = [];
  const commandOf = (chunk: unknown): string => String(chunk).split('\r\n')[2] ?? '';
  const { _write: writeOne, _writev: writeTogether } = stream;
  stream._write = (chunk, encoding, callback) => {
    writes.push([commandOf(chunk)]);
    writeOne.call(stream, chunk, encoding, callback);
  };
  stream._writev = (chunks, callback) => {
    writes.push(chunks.map(({ chunk }) => commandOf(chunk)));
    writeTogether?.call(stream, chunks, callback);
  };
  await work();
  return writes;
}
