import { Redis } from 'ioredis';
import { anyLatestScoresKey } from '../../../shared/redis/keys.js';
import { keysOn } from '../../../shared/redis/scan.js';
import type { FleetData } from './fleet-data.js';

/** Memory of the latest scores in Redis. */
export interface LeadMemory {
  readonly leads: number;
  readonly bytes: number;
}

/** Entries and memory of the hashes of latest scores. */
export async function leadMemoryOf(redisUrl: string): Promise<LeadMemory> {
  const redis = new Redis(redisUrl);
  try {
    let [leads, bytes] = [0, 0];
    for await (const keys of keysOn(redis, anyLatestScoresKey))
      for (const key of keys) {
        leads += await redis.hlen(key);
        bytes += Number(await redis.memory('USAGE', key, 'SAMPLES', 0));
      }
    return { leads, bytes };
  } finally {
    redis.disconnect();
  }
}

/** Reads of the chunks of bundle files so far. Each load of a model makes the same number. */
export async function bundleReads({ database }: FleetData): Promise<number> {
  const [found] = await database
    .collection('bundles.chunks')
    .aggregate<{ readonly latencyStats: { readonly reads: { readonly ops: number } } }>([
      { $collStats: { latencyStats: {} } },
    ])
    .toArray();
  return found?.latencyStats.reads.ops ?? 0;
}
