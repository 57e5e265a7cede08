import type { ClientSession, Collection, Db } from 'mongodb';
import { randomBase62 } from '../../contract/identifiers.js';
import type { Way } from '../../contract/roles.js';
import { withMongoTimeout } from '../connection/connect.js';

/** One document of `audit_log`: one change by a person. Append only. */
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

const timeoutMs = 5_000;

const idAt = (at: Date): string => at.getTime().toString(36).padStart(9, '0') + randomBase62(10);

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

  /**
   * The entries of an organisation, latest first.
   * @param before the id of an entry: only earlier ones
   */
  latest(organisationId: string, most: number, before?: string): Promise<AuditEntry[]> {
    const earlier = before === undefined ? {} : { _id: { $lt: before } };
    return withMongoTimeout(timeoutMs, (signal) =>
      this.collection
        .find({ org: organisationId, ...earlier }, { signal })
        .sort({ org: 1, _id: -1 })
        .limit(most)
        .toArray(),
    );
  }
}
