import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFile } from '../../shared/project-root.js';
import { startRedis } from '../local-servers/redis-server.js';
import { type OnEnd, stoppedAtEnd } from '../stack/run-to-end.js';
import type { BareReady } from './bare-messages.js';
import type { MeasuredTarget } from './load-messages.js';

/**
 * Starts the baseline that `webhook` is held against: a Redis of its own (the same program with the same settings), a
 * bare Koa that makes one BullMQ job of each call and waits for it, and workers.
 * @throws Error when one of its processes ends before it is ready
 */
export async function startBareService(
  { bundlePath, workers }: { readonly bundlePath: string; readonly workers: number },
  onEnd: OnEnd,
): Promise<MeasuredTarget> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-bare-'));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  const redis = await stoppedAtEnd(onEnd, startRedis({ directory }));
  const start = (name: string, args: readonly string[]) => {
    const child = fork(projectFile(`dist/scripts/bench/${name}.js`), args, {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: [],
    });
    onEnd(() => stopped(child));
    return child;
  };
  const pool = Array.from({ length: workers }, () => start('bare-worker', [redis.url, bundlePath]));
  const gateway = start('bare-gateway', [redis.url]);
  const [{ port }] = await Promise.all([
    readyMessage(gateway) as Promise<BareReady>,
    ...pool.map(readyMessage),
  ]);
  return {
    gateway: { host: '127.0.0.1', port, secrets: ['none'] },
    groups: { gateway: [pidOf(gateway)], workers: pool.map(pidOf), redis: [redis.pid], mongod: [] },
  };
}

function readyMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`a process of the baseline ended: ${signal ?? `exit code ${code}`}`)),
    );
  });
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a process of the baseline did not start');
  return pid;
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
