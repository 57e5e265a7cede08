import type { ClientSession, Collection, Db } from 'mongodb';
import { randomBase62 } from '../../contract/identifiers.js';
import type { Way } from '../../contract/roles.js';
import { withMongoTimeout } from '../connection/connect.js';

/** One document of `audit_log`: one change, or one read of leads, by a person. It is never changed. */
export interface AuditEntry {
  /** Sorts by time, to the millisecond also among processes. */
  readonly _id: string;
  /** Absent for changes of no organisation, such as an operator's token. */
  readonly org?: string;
  readonly at: Date;
  readonly actor: { readonly name: string; readonly way: Way; readonly address?: string };
  /** The name of an action, such as `key.revoke`. */
  readonly action: string;
  /** The id of the changed object; absent for the organisation itself. */
  readonly target?: string;
  /** The members that changed. Never secrets or fields of leads. */
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  readonly reason?: string;
  readonly request_id: string;
}

/** Which entries are wanted. */
export interface AuditQuery {
  /** At most so many. */
  readonly most: number;
  /** The id of an entry: only earlier ones. */
  readonly before?: string | undefined;
  /** From this instant on. */
  readonly from?: Date | undefined;
  /** Before this instant. */
  readonly until?: Date | undefined;
  /** The name of the person or program. */
  readonly actor?: string | undefined;
  /** The first word of actions, such as `key`. */
  readonly kind?: string | undefined;
  /** The name of an action, such as `key.revoke`. */
  readonly action?: string | undefined;
  /** Entries of these actions alone. */
  readonly only?: readonly string[];
  /** No entries of these actions. */
  readonly without?: readonly string[];
  /** The id of the changed object, or that of a lead that was read; or one of several. */
  readonly target?: string | readonly string[] | undefined;
}

/** Some entries, latest first, and the id of the last one that was read if the log goes on. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: string | undefined;
}

const timeoutMs = 5_000;
/** No index has persons and kinds: a page of a filtered log reads so many entries. */
export const mostEntriesRead = 5_000;
/** The latest entries, whose persons can be chosen. */
const entriesOfActors = 1_000;
const mostActors = 200;

interface IdRange {
  readonly $gte: string;
  readonly $lt?: string;
}

const timePart = (at: Date): string => at.getTime().toString(36).padStart(9, '0');
const idAt = (at: Date): string => timePart(at) + randomBase62(10);

/** The log of all changes that people made. */
export class AuditLog {
  private readonly collection: Collection<AuditEntry>;

  constructor(database: Db) {
    this.collection = database.collection<AuditEntry>('audit_log');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ org: 1, _id: -1 });
  }

  /** Appends an entry: in the transaction of the change, or confirmed before the change begins. */
  async append(entry: Omit<AuditEntry, '_id'>, session: ClientSession | undefined): Promise<void> {
    const options = session === undefined ? { writeConcern: { w: 'majority' as const } } : { session };
    await withMongoTimeout(timeoutMs, () => this.collection.insertOne({ _id: idAt(entry.at), ...entry }, options));
  }

  /** The entries of an organisation, latest first. */
  async latest(organisationId: string, most: number): Promise<AuditEntry[]> {
    return [...(await this.page(organisationId, { most })).entries];
  }

  /** Removes the entries of earlier times. @returns their number */
  async removeBefore(at: Date): Promise<number> {
    return (await this.collection.deleteMany({ _id: { $lt: timePart(at) } })).deletedCount;
  }

  /**
   * Entries of an organisation, or with undefined those of none. A page of a filtered log may have few or none, and a
   * next one: it ends after `mostEntriesRead`.
   */
  async page(organisationId: string | undefined, query: AuditQuery): Promise<AuditPage> {
    const { most, before, from, until, actor, kind, action, only, without, target } = query;
    const above = from === undefined ? '' : timePart(from);
    const below = [before, until && timePart(until)].filter((id) => id !== undefined).sort()[0];
    const within: IdRange = { $gte: above, ...(below === undefined ? {} : { $lt: below }) };
    const onAction = {
      // In ASCII the slash follows the full stop.
      ...(kind === undefined ? {} : { $gt: `${kind}.`, $lt: `${kind}/` }),
      ...(action === undefined ? {} : { $eq: action }),
      ...(only === undefined ? {} : { $in: [...only] }),
      ...(without === undefined ? {} : { $nin: [...without] }),
    };
    const filter = {
      ...(actor === undefined ? {} : { 'actor.name': actor }),
      ...(Object.keys(onAction).length === 0 ? {} : { action: onAction }),
      ...(target === undefined ? {} : { target: typeof target === 'string' ? target : { $in: [...target] } }),
    };
    const isFiltered = Object.keys(filter).length > 0;
    const latestFirst = { org: 1, _id: -1 } as const;
    const org = organisationId ?? { $exists: false };
    return await withMongoTimeout(timeoutMs, async (signal) => {
      const find = (ids: IdRange, others: object = {}) =>
        this.collection.find({ org, _id: ids, ...others }, { signal }).sort(latestFirst);
      const [last] = isFiltered
        ? await find(within)
            .project<{ _id: string }>({ _id: 1 })
            .skip(mostEntriesRead - 1)
            .limit(1)
            .toArray()
        : [];
      const range = last === undefined ? within : { ...within, $gte: last._id };
      const found = await find(range, filter)
        .limit(most + 1)
        .toArray();
      const entries = found.slice(0, most);
      return { entries, next: found.length > most ? entries.at(-1)?._id : last?._id };
    });
  }

  /** The names of those who made the latest changes of an organisation, in alphabetical order. */
  async actors(organisationId: string): Promise<string[]> {
    const stages = [
      { $match: { org: organisationId } },
      { $sort: { org: 1, _id: -1 } },
      { $limit: entriesOfActors },
      { $group: { _id: '$actor.name' } },
      { $sort: { _id: 1 } },
      { $limit: mostActors },
    ];
    // The cursor obeys `signal`, although the type of the options lacks it.
    const found = await withMongoTimeout(timeoutMs, (signal) =>
      this.collection.aggregate<{ readonly _id: string }>(stages, { signal } as object).toArray(),
    );
    return found.map(({ _id: name }) => name);
  }
}
