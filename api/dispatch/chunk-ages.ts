/** Age of an unanswered chunk from which its partition is slow: its process hangs, or loads a large model. */
const slowMs: Readonly<Record<Lane, number>> = { singles: 1_000, batches: 3_000, bulk: 6_000 };

/** The ages of this gateway's unanswered chunks, by lane and partition. */
import type { Lane } from '../../shared/contract/lanes.js';
export class ChunkAges {
  /** For each lane and partition the beginnings of its chunks, oldest first. */
  private readonly beganMs = new Map<string, Map<symbol, number>>();

  constructor(private readonly nowMs = () => performance.now()) {}

  /** Begins the age of a sent chunk. Returns the function that ends it. */
  begin(lane: Lane, partition: number): () => void {
    const key = `${lane} ${partition}`;
    const chunks = this.beganMs.get(key) ?? new Map<symbol, number>();
    this.beganMs.set(key, chunks);
    const chunk = Symbol(key);
    chunks.set(chunk, this.nowMs());
    return () => void chunks.delete(chunk);
  }

  /** Whether a chunk of a partition has waited for too long. */
  isSlow(lane: Lane, partition: number): boolean {
    const [oldestMs] = this.beganMs.get(`${lane} ${partition}`)?.values() ?? [];
    return oldestMs !== undefined && this.nowMs() - oldestMs > slowMs[lane];
  }
}
