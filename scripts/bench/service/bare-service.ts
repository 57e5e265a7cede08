import { startRedis } from '../../servers/redis/redis-server.js';
import { type OnEnd, stoppedAtEnd, temporaryDirectory } from '../../servers/run-to-end.js';
import { type ServiceKind, startService } from '../../servers/service-process.js';
import type { MeasuredTarget } from '../load/messages.js';
import { addressOf, workers } from './bench-service.js';

/**
 * Starts the baseline of `webhook`: a Redis of its own with the service's settings, one bare gateway and its workers.
 * See `bare-process.ts`.
 * @throws Error if a process ends before it is ready
 */
export async function startBareService(bundlePath: string, onEnd: OnEnd): Promise<MeasuredTarget> {
  const directory = await temporaryDirectory(onEnd, 'bare');
  const redis = await stoppedAtEnd(onEnd, startRedis({ directory }));
  const start = (kind: ServiceKind) => {
    const program = ['dist/scripts/bench/service/bare-process.js', kind, redis.url, bundlePath] as const;
    return stoppedAtEnd(onEnd, startService({ kind, program, environment: {}, log: 2 }));
  };
  const pool = Array.from({ length: workers }, () => start('worker'));
  const [gateway, ...started] = await Promise.all([start('gateway'), ...pool]);
  return {
    gateway: { ...addressOf(gateway.url), secrets: ['none'] },
    groups: { gateway: [gateway.pid], workers: started.map(({ pid }) => pid), redis: [redis.pid], mongod: [] },
  };
}
