import type { AnyBulkWriteOperation, Collection, Db, Document } from 'mongodb';
import { dayMs, dayStartMs, dayText } from '../../contract/dates.js';
import { maxReportedValues, type ReadingKind, readingKinds } from '../../messages/score-job.js';
import { type ClientSession, refusedWrites, withMongoTimeout } from '../connection/connect.js';

/** Days that are kept, today included; fewer if `RETENTION_DAYS` is less. */
export const maxCoverageDays = 90;
/** Unseen values are kept of the first so many slots. A day with all of them stays far below MongoDB's 16 MiB. */
export const maxSlotsWithValues = 200;

/** A version of a model, and the organisation that has it. */
export interface VersionOwner {
  readonly org: string;
  readonly model: string;
  readonly version: string;
}

/** How the fields of one version were read on one day, summed up in memory. Slots are those of `KnownFields`. */
export interface FieldSums extends VersionOwner {
  /** Number of the UTC day. */
  readonly day: number;
  records: number;
  /** By slot, in the order of `readingKinds`. */
  readonly counts: Map<number, number[]>;
  /** The unseen values of each slot with their records, at most 20. */
  readonly values: Map<number, Map<string, number>>;
}

/** A value, and the records that had it. */
export interface ValueCount {
  readonly value: string;
  readonly records: number;
}

/** One document of `field_days`: how the fields of a version were read on one day. Processes that score add to it. */
export interface FieldDay extends VersionOwner {
  /** `<organisation>:<model>:<version>:<YYYY-MM-DD>` */
  readonly _id: string;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly records: number;
  /** By slot. Names and values of callers are no keys: they may contain any character. */
  readonly fields?: Readonly<Record<string, SlotDay>>;
  readonly expires_at: Date;
}

export interface SlotDay extends Readonly<Partial<Record<ReadingKind, number>>> {
  /** The commonest unseen values, at most 20. */
  readonly values?: readonly ValueCount[];
}

/** The records of a version on one day, and those that lacked the field of a slot. A gap that was filled in is none. */
export interface DayGaps extends Pick<FieldDay, 'model' | 'day' | 'records'> {
  readonly slots: readonly { readonly slot: string; readonly missing?: number }[];
}

const timeoutMs = 10_000;
/** A day may have half a megabyte of values. */
const daysAtOnce = 10;

/** How the fields of each version were read, by day. */
export class FieldDayStore {
  private readonly collection: Collection<FieldDay>;

  constructor(database: Db) {
    this.collection = database.collection<FieldDay>('field_days');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ expires_at: 1 }, { expireAfterSeconds: 0 });
  }

  /**
   * Adds sums to what is stored. Several processes may add to one day at once.
   * @param keptDays after which a day is removed
   * @returns the sums that MongoDB refused
   * @throws the driver's error, or MongoTimeout, when it is not known what was stored
   */
  async add(sums: readonly FieldSums[], keptDays = maxCoverageDays): Promise<readonly FieldSums[]> {
    if (sums.length === 0) return [];
    const writes = sums.map((each): AnyBulkWriteOperation<FieldDay> => {
      const filter = { _id: idOf(each, dayText(each.day)) };
      return { updateOne: { filter, update: updateOf(each, keptDays), upsert: true } };
    });
    const written = withMongoTimeout(timeoutMs, () => this.collection.bulkWrite(writes, { ordered: false }));
    const refused = await written.then(() => undefined, refusedWrites);
    return sums.filter((_, index) => refused?.has(index));
  }

  /** Removes the days of all versions of a model. A process may store its last minute afterwards. */
  async removeModel({ org, model }: Pick<VersionOwner, 'org' | 'model'>, session?: ClientSession): Promise<void> {
    // In ASCII `;` follows `:`.
    const _id = { $gte: `${org}:${model}:`, $lt: `${org}:${model};` };
    await this.collection.deleteMany({ _id }, session && { session });
  }

  /**
   * How many records lacked each field, of some versions on some days, in any order. Unseen values are not read: they
   * may be half a megabyte a day.
   */
  async gaps(owners: readonly VersionOwner[], days: readonly string[]): Promise<DayGaps[]> {
    const ids = owners.flatMap((owner) => days.map((day) => idOf(owner, day)));
    const stages = [
      { $match: { _id: { $in: ids } } },
      { $project: { _id: 0, model: 1, day: 1, records: 1, slots: countsOfSlots } },
    ];
    // The cursor obeys `signal`, although the type of the options lacks it.
    return await withMongoTimeout(timeoutMs, (signal) =>
      this.collection.aggregate<DayGaps>(stages, { signal } as object).toArray(),
    );
  }

  /** The stored days of a version among some days (`YYYY-MM-DD`), in any order. */
  async *days(owner: VersionOwner, days: readonly string[]): AsyncGenerator<FieldDay> {
    const signal = AbortSignal.timeout(timeoutMs);
    const filter = { _id: { $in: days.map((day) => idOf(owner, day)) } };
    yield* this.collection.find(filter, { signal, batchSize: daysAtOnce });
  }
}

const countsOfSlots = {
  $map: {
    input: { $objectToArray: { $ifNull: ['$fields', {}] } },
    as: 'slot',
    in: { slot: '$$slot.k', missing: '$$slot.v.missing' },
  },
};

const idOf = ({ org, model, version }: VersionOwner, day: string): string => `${org}:${model}:${version}:${day}`;

/**
 * The update that adds sums to a day. A pipeline adds values, because `$inc` cannot bound their list; it takes several
 * times as long.
 */
function updateOf({ org, model, version, day, records, counts, values }: FieldSums, keptDays: number): Document {
  const expires_at = new Date(dayStartMs(day) + Math.min(keptDays, maxCoverageDays) * dayMs);
  const owner = { org, model, version, day: dayText(day) };
  const added: Record<string, number> = { records };
  for (const [slot, ofSlot] of counts)
    for (const [kind, name] of readingKinds.entries()) {
      const count = ofSlot[kind] ?? 0;
      if (count > 0) added[`fields.${slot}.${name}`] = count;
    }
  if (values.size === 0) return { $set: { ...owner, expires_at }, $inc: added };
  const members: Document = { expires_at };
  // A version may begin with `$`.
  for (const [name, text] of Object.entries(owner)) members[name] = { $literal: text };
  for (const [path, count] of Object.entries(added)) members[path] = { $add: [{ $ifNull: [`$${path}`, 0] }, count] };
  for (const [slot, ofSlot] of values) {
    const further = [...ofSlot].map(([value, count]) => ({ value, records: count }));
    members[`fields.${slot}.values`] = mergedValues(`$fields.${slot}.values`, further);
  }
  return [{ $set: members }];
}

/** The commonest of the values at a path and further ones. `$literal`: a value may begin with `$`. */
function mergedValues(path: string, values: readonly ValueCount[]): Document {
  const further = { $literal: values };
  const same = { $filter: { input: further, as: 'new', cond: { $eq: ['$$new.value', '$$old.value'] } } };
  const more = { $sum: { $map: { input: same, as: 'each', in: '$$each.records' } } };
  const stored = {
    $map: {
      input: { $ifNull: [path, []] },
      as: 'old',
      in: { value: '$$old.value', records: { $add: ['$$old.records', more] } },
    },
  };
  const isStored = { $in: ['$$new.value', { $ifNull: [`${path}.value`, []] }] };
  const others = { $filter: { input: further, as: 'new', cond: { $not: isStored } } };
  const input = { $concatArrays: [stored, others] };
  return { $slice: [{ $sortArray: { input, sortBy: { records: -1, value: 1 } } }, maxReportedValues] };
}
