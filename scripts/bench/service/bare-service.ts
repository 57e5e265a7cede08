import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';
import { startRedis } from '../../servers/redis-server.js';
import { type OnEnd, stoppedAtEnd } from '../../servers/run-to-end.js';
import type { MeasuredTarget } from '../load/messages.js';
import { workers } from './bench-service.js';

interface BareProcess {
  readonly pid: number;
  /** Port of the gateway. */
  readonly port: number | undefined;
}

/**
 * Starts the baseline of `webhook`: a Redis of its own with the service's settings, one bare gateway and its workers.
 * See `bare-process.ts`.
 * @throws Error if a process ends before it is ready
 */
export async function startBareService(bundlePath: string, onEnd: OnEnd): Promise<MeasuredTarget> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-bare-'));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  const redis = await stoppedAtEnd(onEnd, startRedis({ directory }));
  const start = (role: 'gateway' | 'worker') => startProcess([role, redis.url, bundlePath], onEnd);
  const [gateway, ...pool] = await Promise.all([
    start('gateway'),
    ...Array.from({ length: workers }, () => start('worker')),
  ]);
  return {
    gateway: { host: '127.0.0.1', port: gateway.port ?? 0, secrets: ['none'] },
    groups: { gateway: [gateway.pid], workers: pool.map(({ pid }) => pid), redis: [redis.pid], mongod: [] },
  };
}

async function startProcess(args: readonly string[], onEnd: OnEnd): Promise<BareProcess> {
  const child = fork(projectFile('dist/scripts/bench/service/bare-process.js'), args, {
    stdio: ['ignore', 2, 2, 'ipc'],
    execArgv: [],
  });
  onEnd(() => stop(child));
  const ready = await new Promise<Pick<BareProcess, 'port'>>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Pick<BareProcess, 'port'>));
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`a process of the baseline ended: ${signal ?? `exit code ${code}`}`)),
    );
  });
  return { pid: child.pid ?? 0, port: ready.port };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
