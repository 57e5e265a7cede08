import { UnusableServer } from '../../../shared/async/retry.js';
import { messageOf } from '../../../shared/contract/errors.js';
import { maxSkewMs } from '../../../shared/process/clock-watch.js';
import { factOf, type Redis, redisNowMs } from '../../../shared/redis/connect.js';
import { checkRedis, requiredPolicy } from '../../../shared/redis/health.js';
import { readableBytes } from '../output/readable-numbers.js';
import { type Checked, type Finding, isOlder } from './finding.js';

const minMajor = 7;
const maxUsedShare = 0.95;
const silent = { warn: () => undefined, info: () => undefined };

/** Checks the Redis of an installation: its kind, version, policy, memory, disk, and the clock of this machine. */
export async function checkRedisServer(redis: Redis): Promise<Checked> {
  let infos: readonly string[];
  try {
    infos = await checkRedis(redis, silent);
  } catch (error) {
    if (!(error instanceof UnusableServer)) throw error;
    return { facts: [['Redis', 'cannot be used']], findings: [unusableRedis(error)] };
  }
  const aheadMs = await clockAheadMs(redis);
  return {
    facts: [['Redis', infos.map(stateOf).join('; ')]],
    findings: [...new Map(infos.flatMap(findingsOf).map((each) => [each.problem, each])).values(), ...clockOf(aheadMs)],
  };
}

export const unreachableRedis = (error: unknown): Finding => ({
  code: 'redis_unreachable',
  problem: messageOf(error),
  harm: 'Gateways answer scoring calls with 500, and no process can start.',
  remedy: 'Start Redis, or correct REDIS_URL here and in all processes.',
});

const unusableRedis = (error: UnusableServer): Finding => ({
  code: 'redis_unusable',
  problem: error.message,
  harm: 'No process can start on it.',
  remedy: 'Correct REDIS_URL here and in all processes, or the server.',
});

const versionOf = (info: string): string => factOf(info, 'redis_version') ?? 'unknown';

function memoryOf(info: string): { readonly used: number; readonly max: number } {
  return { used: Number(factOf(info, 'used_memory') ?? 0), max: Number(factOf(info, 'maxmemory') ?? 0) };
}

function stateOf(info: string): string {
  const { used, max } = memoryOf(info);
  const limit = max === 0 ? 'no maxmemory' : `maxmemory ${readableBytes(max)}`;
  return `${versionOf(info)}, ${factOf(info, 'maxmemory_policy')}, ${readableBytes(used)} used, ${limit}`;
}

function findingsOf(info: string): Finding[] {
  const findings: Finding[] = [];
  const version = versionOf(info);
  if (isOlder(version, minMajor))
    findings.push({
      code: 'redis_version',
      problem: `Redis is version ${version}, and Leadscore needs ${minMajor} or later`,
      harm: 'Its scripts do not run, so all calls fail.',
      remedy: `Upgrade Redis to ${minMajor} or later.`,
    });
  const policy = factOf(info, 'maxmemory_policy');
  if (policy !== undefined && policy !== requiredPolicy)
    findings.push({
      code: 'redis_policy',
      problem: `The maxmemory-policy of Redis is ${policy}, and must be ${requiredPolicy}`,
      harm: 'A full Redis drops counters, leases and queued chunks, so calls fail and quota is counted again.',
      remedy: `Run: redis-cli config set maxmemory-policy ${requiredPolicy}. Set it in redis.conf too.`,
    });
  const { used, max } = memoryOf(info);
  if (max > 0 && used > maxUsedShare * max)
    findings.push({
      code: 'redis_memory',
      problem: `Redis uses ${readableBytes(used)} of its maxmemory of ${readableBytes(max)}`,
      harm: 'A full Redis refuses writes, so all scoring calls get 500.',
      remedy: 'Give Redis more memory, and raise maxmemory.',
    });
  const failed = ['aof_last_write_status', 'rdb_last_bgsave_status'].filter(
    (fact) => (factOf(info, fact) ?? 'ok') !== 'ok',
  );
  if (failed.length > 0)
    findings.push({
      code: 'redis_disk',
      problem: `Redis could not write to its disk (${failed.join(', ')})`,
      harm: 'Redis refuses writes while it cannot store them, so all scoring calls get 500.',
      remedy: 'Look at the free space and the rights of the folder in which Redis keeps its data.',
    });
  return findings;
}

/** By how much this machine's clock is ahead, ms: exact to half of a round trip. 0 where TIME is forbidden. */
async function clockAheadMs(redis: Redis): Promise<number> {
  const sentMs = Date.now();
  const redisMs = await redisNowMs(redis).catch(() => undefined);
  return redisMs === undefined ? 0 : (sentMs + Date.now()) / 2 - redisMs;
}

const clockOf = (aheadMs: number): Finding[] =>
  Math.abs(aheadMs) > maxSkewMs ? [clockFinding('The clock of this machine', aheadMs)] : [];

/** @param clock whose clock it is, as the subject of a sentence */
export const clockFinding = (clock: string, aheadMs: number): Finding => ({
  code: 'clock',
  problem: `${clock} is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of Redis`,
  harm: 'Calls are dated wrongly, and the newer of two scores of a lead may lose.',
  remedy: 'Synchronise the clocks of all machines by NTP, and look at them with: timedatectl',
});
