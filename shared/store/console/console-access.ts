import { createHash, randomBytes } from 'node:crypto';
import type { ClientSession, Collection, Db, Filter } from 'mongodb';
import { newId } from '../../contract/identifiers.js';
import type { Role, Way } from '../../contract/roles.js';
import { withMongoTimeout } from '../connection/connect.js';

/** A person with access to the console. */
export interface Person {
  readonly person: string;
  readonly role: Role;
  /** Absent for operators, who see every organisation. */
  readonly org?: string;
  /** `mbr_…`, of a person who signed in by OIDC. */
  readonly member_id?: string;
}

/** One document of `console_links`: a one-time link. Only the hash of its secret is stored. */
export interface ConsoleLink extends Person {
  /** SHA-256 of the secret, base64url. */
  readonly _id: string;
  readonly created_by: string;
  readonly expires_at: Date;
}

/** One document of `console_sessions`: a browser that signed in, or an operator's token. */
export interface ConsoleSession extends Person {
  /** SHA-256 of the cookie or the token, base64url. */
  readonly _id: string;
  readonly way: Way;
  readonly created_at: Date;
  /** When the session ends unless it is used, and the latest time of that. Absent for a token. */
  readonly expires_at?: Date;
  readonly ends_at?: Date;
  /** `tok_…`; only for a token. */
  readonly token_id?: string;
  /** `ses_…`, the address of the last use, and its time, up to a minute late. Not for a token. */
  readonly session_id?: string;
  readonly address?: string;
  readonly last_used_at?: Date;
}

/** Which sessions of browsers people may see and end. */
export type SessionScope = Pick<ConsoleSession, 'org' | 'person' | 'role'> | ScopeOf;
type ScopeOf =
  | { readonly organisation: string }
  | { readonly members: readonly string[] }
  | { readonly operators: true };

const timeoutMs = 5_000;
const idleMs = 12 * 60 * 60 * 1000;
const maxSessionMs = 7 * 24 * 60 * 60 * 1000;
/** A session's use is stored this often. */
const storeUseEveryMs = 60_000;
const maxListed = 200;
const majority = { writeConcern: { w: 'majority' } } as const;

/** 256 random bits. */
export const newAccessSecret = (): string => randomBytes(32).toString('base64url');

export const accessHash = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** One-time links, sessions and tokens of the console, found by the hash of their secret. */
export class ConsoleAccess {
  private readonly links: Collection<ConsoleLink>;
  private readonly sessions: Collection<ConsoleSession>;
  private readonly settings: Collection<{ readonly _id: 'console'; readonly url: string }>;

  constructor(
    database: Db,
    private readonly session?: ClientSession,
  ) {
    this.links = database.collection<ConsoleLink>('console_links');
    this.sessions = database.collection<ConsoleSession>('console_sessions');
    this.settings = database.collection('settings');
  }

  /** Stores where people open the console, for command lines that make links to it. */
  async storeAddress(url: string): Promise<void> {
    await this.settings.updateOne({ _id: 'console' }, { $set: { url } }, { upsert: true, ...majority });
  }

  /** The address of the console that started last; undefined if none ever did. */
  async address(): Promise<string | undefined> {
    return (await this.settings.findOne({ _id: 'console' }))?.url;
  }

  async prepare(): Promise<void> {
    await this.links.createIndex({ expires_at: 1 }, { expireAfterSeconds: 0 });
    await this.sessions.createIndex({ expires_at: 1 }, { expireAfterSeconds: 0 });
    await this.sessions.createIndex({ member_id: 1 }, { sparse: true });
    const isToken = { partialFilterExpression: { token_id: { $exists: true } } };
    await this.sessions.createIndex({ token_id: 1 }, { unique: true, ...isToken });
    await this.sessions.createIndex({ org: 1, role: 1, person: 1 });
    const isSession = { partialFilterExpression: { session_id: { $exists: true } } };
    await this.sessions.createIndex({ session_id: 1 }, { unique: true, ...isSession });
  }

  async addLink(link: ConsoleLink): Promise<void> {
    await this.links.insertOne(link, this.options);
  }

  /** Finds a link that is valid, and does not use it. */
  findLink(secret: string, now: Date): Promise<ConsoleLink | undefined> {
    return withMongoTimeout(timeoutMs, async (signal) => {
      const valid = { _id: accessHash(secret), expires_at: { $gt: now } };
      return (await this.links.findOne(valid, { signal })) ?? undefined;
    });
  }

  /** Takes a valid link away. Only one of several calls gets it. */
  async takeLink(secret: string, now: Date): Promise<ConsoleLink | undefined> {
    const valid = { _id: accessHash(secret), expires_at: { $gt: now } };
    return (await this.links.findOneAndDelete(valid, this.options)) ?? undefined;
  }

  /** Begins a session. Nothing else ever inserts one, so that a request under way cannot revive an ended session. */
  async begin(
    secret: string,
    person: Person & Pick<ConsoleSession, 'way' | 'address'>,
    now: Date,
  ): Promise<ConsoleSession> {
    const session: ConsoleSession = {
      ...{ _id: accessHash(secret), session_id: newId('ses') },
      ...person,
      ...{ created_at: now, last_used_at: now },
      expires_at: new Date(now.getTime() + idleMs),
      ends_at: new Date(now.getTime() + maxSessionMs),
    };
    await this.sessions.insertOne(session, this.options);
    return session;
  }

  async addToken(secret: string, token: Person & { readonly token_id: string }, now: Date): Promise<void> {
    const session: ConsoleSession = { _id: accessHash(secret), ...token, way: 'token', created_at: now };
    await this.sessions.insertOne(session, this.options);
  }

  /** All tokens, oldest first. */
  tokens(): Promise<ConsoleSession[]> {
    return this.sessions
      .find({ token_id: { $exists: true } })
      .sort({ token_id: 1 })
      .toArray();
  }

  /** @returns the removed token; undefined if the id is unknown */
  async removeToken(tokenId: string): Promise<ConsoleSession | undefined> {
    return (await this.sessions.findOneAndDelete({ token_id: tokenId }, this.options)) ?? undefined;
  }

  /**
   * Finds a session or token that is valid. Puts off the end of an idle session, and notes its use.
   * @param address from which it is used
   */
  find(hash: string, now: Date, address?: string): Promise<ConsoleSession | undefined> {
    return withMongoTimeout(timeoutMs, async (signal) => {
      const found = await this.sessions.findOne({ _id: hash }, { signal });
      if (found === null || (found.expires_at !== undefined && found.expires_at <= now)) return undefined;
      if (found.expires_at === undefined || found.ends_at === undefined) return found;
      const expires = new Date(Math.min(now.getTime() + idleMs, found.ends_at.getTime()));
      const sinceUseMs = now.getTime() - (found.last_used_at ?? found.created_at).getTime();
      if (Math.max(expires.getTime() - found.expires_at.getTime(), sinceUseMs) < storeUseEveryMs) return found;
      const use = { $max: { expires_at: expires, last_used_at: now } };
      await this.sessions.updateOne({ _id: hash }, address === undefined ? use : { ...use, $set: { address } });
      return { ...found, expires_at: expires };
    });
  }

  /** The sessions of browsers that are valid, the last used first. */
  listSessions(scope: SessionScope, now: Date): Promise<ConsoleSession[]> {
    return withMongoTimeout(timeoutMs, (signal) =>
      this.sessions
        .find({ ...filterOf(scope), expires_at: { $gt: now } }, { signal })
        .sort({ last_used_at: -1 })
        .limit(maxListed)
        .toArray(),
    );
  }

  /** Ends one of some sessions at once. @returns the ended one; undefined if the id is not among them */
  async endSession(sessionId: string, scope: SessionScope): Promise<ConsoleSession | undefined> {
    const one = { ...filterOf(scope), session_id: sessionId };
    return (await this.sessions.findOneAndDelete(one, this.options)) ?? undefined;
  }

  /** Ends all sessions of a member. */
  async endOfMember(memberId: string): Promise<void> {
    await this.sessions.deleteMany({ member_id: memberId }, this.options);
  }

  /** Ends all sessions and links of an organisation. */
  async endOfOrganisation(organisationId: string): Promise<void> {
    await this.sessions.deleteMany({ org: organisationId }, this.options);
    await this.links.deleteMany({ org: organisationId }, this.options);
  }

  /** Ends a session or revokes a token at once. Idempotent. */
  async end(hash: string): Promise<void> {
    await withMongoTimeout(timeoutMs, () => this.sessions.deleteOne({ _id: hash }, majority));
  }

  private get options() {
    return this.session === undefined ? majority : { session: this.session };
  }
}

/** Tokens and the sessions of operators have no organisation. */
const noOrganisation = { org: { $exists: false } } as const;

function filterOf(scope: SessionScope): Filter<ConsoleSession> {
  if ('organisation' in scope) return { org: scope.organisation };
  if ('members' in scope) return { member_id: { $in: [...scope.members] } };
  if ('operators' in scope) return { ...noOrganisation, role: 'operator', way: 'link' };
  const { org, person, role } = scope;
  return { ...(org === undefined ? noOrganisation : { org }), person, role, way: 'link' };
}
