import type { ClientSession, Collection, Db } from 'mongodb';
import type { Change } from '../../redis/changes.js';
import { withMongoTimeout } from './connect.js';
import { inTransaction } from './transaction.js';

/** One document of `changes`: a change of data that gateways cache. */
interface LoggedChange extends Change {
  /** Changes are numbered from 1, in the order of their commits. */
  readonly _id: number;
  readonly at: Date;
}

/** A document of `settings`: the number of the last change. */
interface LastChange {
  readonly _id: 'changes';
  readonly last: number;
}

/** A gateway that could not read the log for longer drops all that it has cached. */
const keptSeconds = 60 * 60;
const maxChangesPerRead = 10_000;
const writeTimeoutMs = 10_000;
const lastChange = { _id: 'changes' } as const;

/** One change, several, or none. */
type ChangesOfWrite = Change | readonly Change[] | undefined;

/** The changes since some number. */
export interface ChangesSince {
  /** The number of the last change. */
  readonly last: number;
  /** In order; undefined when some are not in the log (any more): anything may have changed. */
  readonly changes: readonly Change[] | undefined;
}

/**
 * The log of all changes of keys, organisations, models and verdicts. Gateways read it every two seconds, and may
 * therefore cache such data for minutes. The document of a change and its entry are written in one transaction, by
 * `logged`.
 */
export class ChangeLog {
  private readonly changes: Collection<LoggedChange>;
  private readonly settings: Collection<LastChange>;

  constructor(database: Db) {
    this.changes = database.collection('changes');
    this.settings = database.collection('settings');
  }

  async prepare(): Promise<void> {
    await this.changes.createIndex({ at: 1 }, { expireAfterSeconds: keptSeconds });
    await this.settings.updateOne(lastChange, { $setOnInsert: { last: 0 } }, { upsert: true });
  }

  /**
   * Reads the changes after a number; without a number, only the number of the last change. One read of one document
   * while nothing has changed. By majority read: another change gets the number of one that a failover rolls back.
   * @throws the driver's error, or MongoTimeout
   */
  async since(number: number | undefined, timeoutMs: number): Promise<ChangesSince> {
    return await withMongoTimeout(timeoutMs, async (signal) => {
      const options = { readConcern: 'majority', signal } as const;
      const { last } = (await this.settings.findOne(lastChange, options)) ?? { last: 0 };
      if (last === number) return { last, changes: [] };
      // A restored backup may end with a lower number.
      if (number === undefined || last < number || last - number > maxChangesPerRead)
        return { last, changes: undefined };
      const range = { _id: { $gt: number, $lte: last } };
      const changes = await this.changes.find(range, { ...options, sort: { _id: 1 } }).toArray();
      return { last, changes: changes.length === last - number ? changes : undefined };
    });
  }

  /** @param changes at least one. They take two writes, however many they are */
  async append(changes: readonly Change[], session: ClientSession): Promise<void> {
    const options = { upsert: true, returnDocument: 'after', session } as const;
    const counted = await this.settings.findOneAndUpdate(lastChange, { $inc: { last: changes.length } }, options);
    if (counted === null) throw new Error('MongoDB returned no number for a change');
    const [first, at] = [counted.last - changes.length + 1, new Date()];
    const entries = changes.map(({ kind, id }, index) => ({ _id: first + index, kind, id, at }));
    await this.changes.insertMany(entries, { session });
  }
}

/**
 * Changes data that gateways cache, and logs it, both or neither. All writes of such data go through here.
 * @param write is repeated after a conflict. Its `change` is undefined when it changed nothing
 * @param session a transaction that the change and its entry become part of; by default they have their own
 * @throws the error of `write`; CommitUnknown when it is unknown whether the change took place
 */
export async function logged<Result>(
  database: Db,
  write: (session: ClientSession) => Promise<{ readonly result: Result; readonly change: ChangesOfWrite }>,
  session?: ClientSession,
): Promise<Result> {
  const log = new ChangeLog(database);
  const results: Result[] = [];
  const writeBoth = async (within: { readonly session: ClientSession }): Promise<void> => {
    const { result, change } = await write(within.session);
    // Last, because it makes other changes wait.
    const changes = asArray(change);
    if (changes.length > 0) await log.append(changes, within.session);
    results.push(result);
  };
  if (session === undefined) await inTransaction(database.client, writeBoth, { timeoutMs: writeTimeoutMs });
  else await writeBoth({ session });
  return results.at(-1) as Result;
}

function asArray(changes: ChangesOfWrite): readonly Change[] {
  if (changes === undefined) return [];
  return 'kind' in changes ? [changes] : changes;
}

/** The change of an organisation or of its models; undefined without an organisation. */
export const changeOfOrganisation = (organisationId: string | undefined): Change | undefined =>
  organisationId === undefined ? undefined : { kind: 'organisation', id: organisationId };
