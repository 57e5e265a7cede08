import type { Clock } from '../contract/dates.js';
import type { Role, Way } from '../contract/roles.js';
import type { Schema, ShapeOf } from '../contract/schema.js';
import type { Change } from '../redis/changes.js';
import type { Redis } from '../redis/connect.js';
import type { KeySettings } from '../store/accounts/key-settings.js';
import type { ClientSession, Db, MongoClient } from '../store/connection/connect.js';
import type { AuditEntry } from '../store/console/audit-log.js';
import type { ConsoleSession } from '../store/console/console-access.js';

/** The person who acts. */
export interface Actor {
  readonly name: string;
  readonly way: Way;
  readonly role: Role;
  /** The one organisation that the person sees; undefined for an operator, who sees all. */
  readonly organisationId: string | undefined;
  /** Undefined for the command line. */
  readonly address: string | undefined;
  /** The session or token with which the person acts. Absent for the command line. */
  readonly session?: ConsoleSession;
}

/** The surroundings of every action, of a console or of a command line. */
export interface AdminContext {
  readonly client: MongoClient;
  readonly database: Db;
  readonly clock: Clock;
  readonly actor: Actor;
  readonly requestId: string;
  /** @throws when Redis cannot be reached */
  readonly redis: () => Promise<Redis>;
  /** @throws when KEY_PEPPER is not known */
  readonly keySettings: () => Promise<KeySettings>;
  /** The length of the leases of quota. */
  readonly leaseMs: number;
  /** Whether reads of leads leave an entry in the audit log. */
  readonly auditsReads: boolean;
  /** Where people open the console, without a trailing slash. Undefined: where the last one was started. */
  readonly consoleUrl: string | undefined;
  /** Where CRMs send calls, without a trailing slash. */
  readonly apiUrl: string;
  /** Called when Redis did not take the announcement of a change. */
  readonly notAnnounced: (error: unknown) => void;
}

/** A change for the audit log. */
export interface RecordedChange extends Pick<AuditEntry, 'target' | 'before' | 'after' | 'reason'> {
  readonly organisationId?: string;
}

/** The surroundings of an action while it runs. */
export interface ActionContext extends AdminContext {
  /** The transaction of a `change`. Undefined for other actions. */
  readonly session: ClientSession | undefined;
  /** Writes the entry of the audit log: in the transaction or, for `steps`, at once. */
  readonly record: (change: RecordedChange) => Promise<void>;
  /** Announces a change to running processes, after the transaction. */
  readonly announce: (change: Change) => void;
}

/** One thing that people do by the console or the command line. */
export interface Action<Input extends Schema, Output extends Schema, Material = undefined, Prepared = Material> {
  /** Such as `key.revoke`: its name in the audit log and in OpenAPI. */
  readonly name: string;
  readonly description: string;
  /** The least role that may do it. */
  readonly role: Role;
  /** Set for actions on what belongs to the person alone: they name no organisation. */
  readonly isOfPerson?: true;
  readonly input: Input;
  readonly output: Output;
  /**
   * - `read` changes nothing.
   * - `change` runs in a transaction, and its audit entry is part of it. It may run again when MongoDB aborts it.
   * - `steps` cannot be undone. It writes its audit entry before its first step.
   */
  readonly effect: 'read' | 'change' | 'steps';
  // Methods, not members of function types: `ActionRoute` takes actions of any types.
  /**
   * Work before the transaction, such as storing files. Absent where `run` needs the material itself.
   * @param material input that is not JSON, such as a checked bundle
   */
  prepare?(context: AdminContext, input: ShapeOf<Input>, material: Material): Promise<Prepared>;
  run(context: ActionContext, input: ShapeOf<Input>, prepared: Prepared): Promise<ShapeOf<Output>>;
}

/** Gives an action its types from its schemas. */
export const defineAction = <Input extends Schema, Output extends Schema, Material = undefined, Prepared = Material>(
  action: Action<Input, Output, Material, Prepared>,
): Action<Input, Output, Material, Prepared> => action;

/** The members of two documents that differ, before and after. */
export function difference(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): Pick<RecordedChange, 'before' | 'after'> {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]),
  );
  const of = (document: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(names.flatMap((name) => (document[name] === undefined ? [] : [[name, document[name]]])));
  return { before: of(one), after: of(other) };
}
