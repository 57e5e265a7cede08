import { maxCommandBytes } from '../../shared/store/calls/call-documents.js';

/** One call's writes on their way to a commit. */
interface Waiting<Entry> {
  readonly entry: Entry;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitOptions<Entry> {
  /** Writes entries together. Gives of each, in order, what it alone failed with, undefined where it is written. */
  readonly commit: (entries: readonly Entry[]) => Promise<readonly (Error | undefined)[]>;
  readonly weightOf: (entry: Entry) => number;
  /** How much of a command an entry takes up. */
  readonly bytesOf: (entry: Entry) => number;
  /** Whether entries of a group that failed as a whole may pass when each is committed alone. */
  readonly mayPassAlone: (error: unknown) => boolean;
}

/** Entries at least this heavy gain nothing from company. */
const heavyWeight = 200;
const largeBytes = 1024 * 1024;
const heaviestGroup = 1_000;
/** Groups of light entries under way at once: while they are, the next one gathers. */
const groupsUnderWay = 2;

/**
 * Calls that finish at about the same time are written together. A light call that finds nothing under way commits at
 * once (with those that finished in the same turn of the event loop); later ones gather until a commit ends.
 */
export class GroupCommit<Entry> {
  private readonly waiting: Waiting<Entry>[] = [];
  private underWay = 0;
  private isScheduled = false;

  constructor(private readonly options: GroupCommitOptions<Entry>) {}

  /** Resolves when the entry is committed; rejects with what its commit failed with. */
  async commit(entry: Entry): Promise<void> {
    const { weightOf, bytesOf } = this.options;
    if (weightOf(entry) >= heavyWeight || bytesOf(entry) >= largeBytes) return await this.commitAlone(entry);
    await new Promise<void>((resolve, reject) => {
      this.waiting.push({ entry, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.underWay >= groupsUnderWay || this.waiting.length === 0) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      const group = this.takeGroup();
      this.underWay += 1;
      void this.commitGroup(group).finally(() => {
        this.underWay -= 1;
        this.schedule();
      });
    });
  }

  private takeGroup(): Waiting<Entry>[] {
    const { weightOf, bytesOf } = this.options;
    let weight = 0;
    let bytes = 0;
    let count = 0;
    for (const { entry } of this.waiting) {
      weight += weightOf(entry);
      bytes += bytesOf(entry);
      if (count > 0 && (weight > heaviestGroup || bytes > maxCommandBytes)) break;
      count += 1;
    }
    return this.waiting.splice(0, count);
  }

  private async commitGroup(group: readonly Waiting<Entry>[]): Promise<void> {
    try {
      const failures = await this.options.commit(group.map(({ entry }) => entry));
      for (const [index, { resolve, reject }] of group.entries()) {
        const failure = failures[index];
        if (failure === undefined) resolve();
        else reject(failure);
      }
    } catch (error) {
      if (group.length > 1 && this.options.mayPassAlone(error)) await this.commitEach(group);
      else for (const { reject } of group) reject(error);
    }
  }

  /** One caller's clash must not fail its neighbours. */
  private async commitEach(group: readonly Waiting<Entry>[]): Promise<void> {
    await Promise.all(
      group.map(({ entry, resolve, reject }) => this.commitAlone(entry).then(resolve, reject)),
    );
  }

  private async commitAlone(entry: Entry): Promise<void> {
    const [failure] = await this.options.commit([entry]);
    if (failure !== undefined) throw failure;
  }
}
