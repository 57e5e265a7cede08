import { setTimeout as pause } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type Lane, lanes } from '../../../shared/contract/lanes.js';
import { sharePartitions } from '../../../shared/messages/partitions.js';
import { type ChunkJob, laneQueueName } from '../../../shared/messages/score-job.js';
import { createLogger } from '../../../shared/process/logger.js';
import { latestJoinKey, partitionPrefix, payloadKey, workerRegisterKey } from '../../../shared/redis/keys.js';
import { WorkerRegister } from '../../../shared/redis/worker-register.js';
import { laneTimings } from '../../../worker/lanes/lane-worker.js';
import { PartitionWorkers } from '../../../worker/lanes/partition-workers.js';
import { CrashNote, CrashNoteWriter } from '../../../worker/pool/crash-note.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const partitions = 4;
const all = [0, 1, 2, 3];

describe('the worker processes of partitions', () => {
  let connections: Redis[];
  let connect: () => Redis;
  let crashNote: CrashNote;
  let running: PartitionWorkers[];
  /** Each chunk that was scored, with the process that did it. */
  let scored: Map<string, string>;
  let inFlight: number;
  let maxInFlight: number;
  let hold: Promise<void>;

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    connections = [];
    connect = () => {
      const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
      connections.push(connection);
      return connection;
    };
    crashNote = new CrashNote();
    [running, scored, inFlight, maxInFlight, hold] = [[], new Map(), 0, 0, Promise.resolve()];
  });
  afterEach(async () => {
    await Promise.all(running.map((workers) => workers.stop()));
    for (const connection of connections) connection.disconnect();
    crashNote.close();
  });

  async function startProcess(id: string, lane: Lane = 'singles'): Promise<PartitionWorkers> {
    const workers = new PartitionWorkers({
      self: { id, partitions },
      lane,
      connection: connect(),
      commands: connect(),
      begin:
        ({ chunk }) =>
        async () => {
          inFlight += 1;
          maxInFlight = Math.max(maxInFlight, inFlight);
          await hold;
          inFlight -= 1;
          scored.set(chunk, id);
          return { chunk, parts: [] };
        },
      crashNote: new CrashNoteWriter(crashNote.descriptor),
      timings: laneTimings,
      logger: createLogger('silent', 'test'),
    });
    running.push(workers);
    await workers.start();
    return workers;
  }

  /** Sends a chunk to each partition, and tells which process scored each. */
  async function sendToAll(name: string, lane: Lane = 'singles'): Promise<(string | undefined)[]> {
    const redis = connect();
    const chunks = all.map((partition) => ({ partition, chunk: `${name} ${partition}` }));
    for (const { chunk, partition } of chunks) {
      await redis.set(payloadKey({ chunk, partition }), '', 'PX', 60_000);
      const queue = new Queue<ChunkJob>(laneQueueName(lane), {
        connection: redis,
        prefix: partitionPrefix(partition),
      });
      const head = { chunk, partition, gateway: 'gw', organisation: 'org', model: 'mdl', version: '1' };
      await queue.add('chunk', { ...head, payload: '{"parts":[]}' }, { jobId: chunk, removeOnComplete: true });
      await queue.close();
    }
    await eventually(() => expect(scored.size % all.length).to.equal(0), 5_000);
    await eventually(() => expect(scored.has(`${name} 3`)).to.equal(true), 5_000);
    return chunks.map(({ chunk }) => scored.get(chunk));
  }

  it('serve all partitions while there is one, and each half of them when there are two', async () => {
    await startProcess('one');
    expect(await sendToAll('alone')).to.deep.equal(['one', 'one', 'one', 'one']);
    await startProcess('other');
    await eventually(async () => {
      const servers = await sendToAll(`shared ${scored.size}`);
      expect(servers.filter((id) => id === 'one')).to.have.length(2);
      expect(servers.filter((id) => id === 'other')).to.have.length(2);
    }, 15_000);
  });

  it('take over the partitions of one that stops, and of one whose heartbeat is removed', async () => {
    const one = await startProcess('one');
    const other = await startProcess('other');
    await one.stop();
    expect(await sendToAll('one has stopped')).to.deep.equal(['other', 'other', 'other', 'other']);
    await startProcess('third');
    await new WorkerRegister(connect(), 'singles').remove({ id: 'third', partitions });
    await other.stop();
    expect(await sendToAll('third is back')).to.deep.equal(['third', 'third', 'third', 'third']);
  });

  it('take over the partitions of one that dies silently, within two seconds of the expiry of its heartbeat', async () => {
    await startProcess('one');
    const lostMs = performance.now();
    await new WorkerRegister(connect(), 'singles').renew({ id: 'lost', partitions });
    await pause(1_500); // a heartbeat of `one`, which hands over a part of its partitions
    expect(await sendToAll('one is left')).to.deep.equal(['one', 'one', 'one', 'one']);
    expect(performance.now() - lostMs).to.be.within(3_900, 6_500);
  });

  it('share all partitions again when Redis has lost the register', async () => {
    await startProcess('one');
    await startProcess('other');
    const redis = connect();
    await redis.del(workerRegisterKey('singles'), latestJoinKey('singles'));
    const register = new WorkerRegister(redis, 'singles');
    await eventually(async () => expect(await register.list()).to.have.length(2), 2_000);
    await eventually(async () => {
      const servers = await sendToAll(`after the loss ${scored.size}`);
      expect(servers.filter((id) => id === 'one')).to.have.length(2);
    }, 15_000);
  });

  it('keep their partitions when one leaves to a successor of the same id', async () => {
    const one = await startProcess('one');
    await startProcess('other');
    const shares = sharePartitions(['one', 'other'].map((id) => ({ id, partitions })));
    const shared = all.map((partition) => (shares.get('one')?.includes(partition) ? 'one' : 'other'));
    await eventually(async () => {
      // While a partition is handed over, two processes serve it.
      for (let time = 0; time < 4; time += 1) expect(await sendToAll(`before ${scored.size}`)).to.deep.equal(shared);
    }, 15_000);
    await startProcess('one');
    one.leaveToSuccessor();
    await one.stop();
    const listed = await new WorkerRegister(connect(), 'singles').list();
    expect(listed.map(({ id }) => id)).to.have.members(['one', 'other']);
    expect(await sendToAll('one has a successor')).to.deep.equal(shared);
  });

  it('have two chunks of a lane in flight, in all partitions together', async () => {
    let release = (): void => undefined;
    hold = new Promise((resolve) => {
      release = resolve;
    });
    await startProcess('one');
    const ended = sendToAll('held');
    await eventually(() => expect(inFlight).to.equal(2));
    setTimeout(release, 300);
    await ended;
    expect(maxInFlight).to.equal(2);
  });

  it('serve their lane alone, and share all partitions with those of the same lane', async () => {
    for (const lane of lanes) await startProcess(`of-${lane}`, lane);
    for (const lane of lanes) expect(await sendToAll(lane, lane)).to.deep.equal(all.map(() => `of-${lane}`));
  });

  it('start while Redis refuses the first heartbeat, as a node of a cluster does after a failover', async () => {
    const commands = connect();
    await commands.set(workerRegisterKey('singles'), 'no sorted set');
    const starting = startProcess('a');
    await pause(300);
    await commands.del(workerRegisterKey('singles'));
    await starting;
    expect((await new WorkerRegister(commands, 'singles').list()).map(({ id }) => id)).to.deep.equal(['a']);
  });
});
