/**
 * Partitions spread the chunks of a fleet over hash slots of Redis, and models over worker processes. Each has its own
 * queues. Gateways and workers compute the same choices from the same names, by rendezvous hashing. When a partition or
 * a process comes or goes, few others change.
 */

/** Max value of `LANES`. */
export const maxPartitions = 64;

/** A worker process in the register, of one message version. */
export interface RegisteredWorker {
  readonly id: string;
  /** The process can serve the partitions below this number. */
  readonly partitions: number;
}

/**
 * All partitions in a version's order of preference. The first is its home, which keeps its model loaded.
 * @param versionKey `<model>:<version>`
 * @param count number of partitions
 */
export function partitionsOf(versionKey: string, count: number): readonly number[] {
  if (count === 1) return [0];
  const ranked = Array.from({ length: count }, (_, partition) => ({ partition, rank: rank(versionKey, partition) }));
  ranked.sort((one, other) => other.rank - one.rank);
  return ranked.map(({ partition }) => partition);
}

/**
 * Shares partitions out among worker processes, in numbers that differ by at most one. With fewer processes than
 * partitions each partition has one process, otherwise each process has one partition.
 * @returns the partitions of each process, by its id
 */
export function sharePartitions(workers: readonly RegisteredWorker[]): ReadonlyMap<string, readonly number[]> {
  const shares = new Map(workers.map(({ id }) => [id, [] as number[]]));
  const count = Math.max(0, ...workers.map(({ partitions }) => partitions));
  const serving = Array.from({ length: count }, () => 0);
  const pairs = workers.flatMap(({ id, partitions }) =>
    Array.from({ length: partitions }, (_, partition) => ({ id, partition, rank: rank(id, partition) })),
  );
  pairs.sort((one, other) => other.rank - one.rank || (one.id < other.id ? -1 : 1));
  const perWorker = new Room(Math.max(count, workers.length), workers.length);
  const perPartition = new Room(Math.max(count, workers.length), count);
  const give = ({ id, partition }: { readonly id: string; readonly partition: number }): void => {
    const share = shares.get(id);
    if (share === undefined || !perWorker.has(share.length) || !perPartition.has(serving[partition] ?? 0)) return;
    perWorker.take(share.length);
    perPartition.take(serving[partition] ?? 0);
    share.push(partition);
    serving[partition] = (serving[partition] ?? 0) + 1;
  };
  pairs.forEach(give);
  // While `LANES` is being changed, workers know different numbers of partitions: equal shares may leave some without
  // one.
  for (const { id, partition } of pairs) {
    const share = shares.get(id) ?? [];
    if (serving[partition] !== 0 && share.length > 0) continue;
    share.push(partition);
    serving[partition] = (serving[partition] ?? 0) + 1;
  }
  return shares;
}

/**
 * Makes a `sharePartitions` that computes only when processes came or went. It takes tens of ms for hundreds of them.
 */
export function partitionSharing(): typeof sharePartitions {
  let known = '';
  let shares: ReturnType<typeof sharePartitions> = new Map();
  return (workers) => {
    const members = workers.map(({ id, partitions }) => `${id} ${partitions}`);
    const names = members.sort().join();
    if (names !== known) shares = sharePartitions(workers);
    known = names;
    return shares;
  };
}

/** The room for `total` items in `holders` holders, where each gets the same number, or one more. */
class Room {
  private readonly min: number;
  private extras: number;

  constructor(total: number, holders: number) {
    this.min = Math.floor(total / Math.max(1, holders));
    this.extras = total - this.min * holders;
  }

  has(held: number): boolean {
    return held < this.min || (held === this.min && this.extras > 0);
  }

  take(held: number): void {
    if (held === this.min) this.extras -= 1;
  }
}

/** A 32-bit hash of a name and a partition: FNV-1a, then the finalizer of MurmurHash3, which spreads similar names. */
function rank(name: string, partition: number): number {
  let hash = 0x811c9dc5 ^ partition;
  for (let index = 0; index < name.length; index += 1) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
