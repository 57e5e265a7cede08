import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { startMongo } from '../../../scripts/servers/mongo-server.js';
import { startRedis } from '../../../scripts/servers/redis/redis-server.js';
import { freePort, type LocalServer } from '../../../scripts/servers/server-process.js';
import { ownSettings } from '../../../scripts/servers/service-process.js';
import { type Stack, startStack } from '../../../scripts/servers/stack.js';
import { eventually } from '../../support/eventually.js';
import { itInFull } from '../../support/tier.js';

interface Line {
  readonly level: string;
  readonly process: string;
  readonly msg: string;
  readonly server?: string;
  readonly awayS?: number;
}

const outageMs = 6_000;
/** Longer than a command of the runner may take, which has no caller that waits. */
const freezeMs = 12_000;
const backWithinMs = 30_000;
/** A frozen server is noticed by the first command without a reply: of the runner, after eight seconds. */
const frozenNoticedS = 11;
/** A server that stops closes its connections. */
const stoppedNoticedS = 4;
/** An idle client of MongoDB looks for its server every ten seconds. */
const answeredS = 15;

describe('the log during an outage', () => {
  let directory: string;
  let redis: LocalServer;
  let mongo: LocalServer;
  let stack: Stack;
  const logs: Record<string, number> = {};
  const read: Record<string, number> = {};
  const kinds = ['gateway', 'worker', 'console', 'bulk'] as const;

  before(async function () {
    this.timeout(90_000);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-outage-'));
    [redis, mongo] = await Promise.all([
      startRedis({ directory: join(directory, 'redis'), port: await freePort() }),
      startMongo({ directory: join(directory, 'mongo') }),
    ]);
    for (const kind of kinds) logs[kind] = openSync(join(directory, `${kind}.log`), 'a', 0o600);
    const { gateway = 0, worker = 0, console = 0, bulk = 0 } = logs;
    stack = await startStack({
      ...{ redisUrl: redis.url, mongoUrl: mongo.url, withConsole: true, withRunner: true },
      environment: {
        ...ownSettings('pepper-of-the-tests'),
        CONSOLE_PORT: '0',
        CONSOLE_URL: undefined,
        LOG_LEVEL: 'info',
        LOWER_PRIORITY: 'no',
      },
      log: { gateway, worker, console, bulk },
    });
  });
  after(async function () {
    this.timeout(60_000);
    await stack?.stop();
    await Promise.all([redis?.stop(), mongo?.stop()]);
    for (const log of Object.values(logs)) closeSync(log);
    await rm(directory, { recursive: true, force: true });
  });

  /** The lines of each program since the last call. */
  async function newLines(): Promise<Record<string, readonly Line[]>> {
    const texts = await Promise.all(kinds.map((kind) => readFile(join(directory, `${kind}.log`), 'utf8')));
    return Object.fromEntries(
      kinds.map((kind, index) => {
        const lines = (texts[index] ?? '').trimEnd().split('\n');
        return [kind, lines.slice(read[kind] ?? 0).map((line): Line => JSON.parse(line))];
      }),
    );
  }

  async function forgetLines(): Promise<void> {
    for (const [kind, lines] of Object.entries(await newLines())) read[kind] = (read[kind] ?? 0) + lines.length;
  }

  /** Asserts that each process wrote a line for the loss of the server and one for its return, and no other. */
  async function expectTwoLines(server: string, beganMs: number, noticedS = stoppedNoticedS): Promise<void> {
    const awayS = (performance.now() - beganMs) / 1_000;
    const lines = await eventually(
      async () => {
        const found = await newLines();
        for (const kind of kinds) expect(found[kind]?.at(-1)?.msg, kind).to.equal(`${server} answers again`);
        return found;
      },
      backWithinMs,
      100,
    );
    // Time in which a late failure would write a third line.
    await pause(3_000);
    expect(await newLines()).to.deep.equal(lines);
    for (const kind of kinds) {
      const own = lines[kind] ?? [];
      const shown = own.map(({ level, msg, server: of }) => [level, of, msg.replace(/,.*/, '')]);
      expect(shown, JSON.stringify(own)).to.deep.equal([
        ['warn', server, `${server} does not answer`],
        ['info', server, `${server} answers again`],
      ]);
      expect(own[1]?.awayS, kind).to.be.within(awayS - noticedS, awayS + answeredS);
    }
  }

  it('has one line for the loss and one for the return in each process when Redis is stopped for six seconds', async () => {
    await forgetLines();
    const beganMs = performance.now();
    await redis.stop();
    await pause(outageMs);
    redis = await startRedis({ directory: join(directory, 'redis'), port: redis.port });
    await expectTwoLines('Redis', beganMs);
  }).timeout(90_000);

  itInFull(
    'has one line for the loss and one for the return in each process when Redis is frozen for twelve seconds',
    async function () {
      this.timeout(90_000);
      await forgetLines();
      const beganMs = performance.now();
      process.kill(redis.pid, 'SIGSTOP');
      await pause(freezeMs);
      process.kill(redis.pid, 'SIGCONT');
      await expectTwoLines('Redis', beganMs, frozenNoticedS);
    },
  );

  it('has one line for the loss and one for the return in each process when MongoDB is stopped for six seconds', async () => {
    await forgetLines();
    const beganMs = performance.now();
    await mongo.stop();
    await pause(outageMs);
    mongo = await startMongo({ directory: join(directory, 'mongo'), port: mongo.port });
    await expectTwoLines('MongoDB', beganMs);
  }).timeout(120_000);
});
