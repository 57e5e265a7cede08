import type { ClientSession, Collection, Db } from 'mongodb';
import { newId } from '../../contract/identifiers.js';
import type { Role } from '../../contract/roles.js';
import { duplicateKey, withMongoTimeout } from '../connection/connect.js';

/** One document of `console_members`: a person who signs in to an organisation by OIDC. */
export interface ConsoleMember {
  /** `mbr_…` */
  readonly _id: string;
  readonly org: string;
  /** In lower case. */
  readonly email: string;
  readonly role: Exclude<Role, 'operator'>;
  /** The account at the issuer that signed in first. Only it signs in from then on. */
  readonly account?: { readonly iss: string; readonly sub: string };
  readonly created_at: Date;
  readonly last_sign_in_at?: Date;
  /** The organisation is to be deleted, and the person cannot sign in to it. */
  readonly withdrawn?: true;
}

/** A person as an identity provider describes them. */
export interface OidcIdentity {
  readonly iss: string;
  readonly sub: string;
  /** In lower case; undefined unless the provider has verified it. */
  readonly verifiedEmail: string | undefined;
}

const timeoutMs = 5_000;
const notWithdrawn = { withdrawn: { $exists: false } } as const;

/** The people who may sign in to organisations by OIDC. */
export class MemberStore {
  private readonly members: Collection<ConsoleMember>;

  constructor(
    database: Db,
    private readonly session?: ClientSession,
  ) {
    this.members = database.collection<ConsoleMember>('console_members');
  }

  async prepare(): Promise<void> {
    await this.members.createIndex({ org: 1, email: 1 }, { unique: true });
    await this.members.createIndex({ email: 1 });
    await this.members.createIndex({ 'account.sub': 1 }, { sparse: true });
  }

  /** All members of an organisation, by e-mail. */
  list(organisationId: string): Promise<ConsoleMember[]> {
    return withMongoTimeout(timeoutMs, (signal) =>
      this.members.find({ org: organisationId }, { signal }).sort({ org: 1, email: 1 }).toArray(),
    );
  }

  /** @returns undefined if the organisation has a member with this e-mail */
  async add(member: Omit<ConsoleMember, '_id'>): Promise<ConsoleMember | undefined> {
    const document = { _id: newId('mbr'), ...member };
    try {
      await this.members.insertOne(document, this.options);
      return document;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === duplicateKey) return undefined;
      throw error;
    }
  }

  async find(organisationId: string, memberId: string): Promise<ConsoleMember | undefined> {
    return (await this.members.findOne({ _id: memberId, org: organisationId }, this.options)) ?? undefined;
  }

  /**
   * The memberships of the account to which a member is bound, that of the member included, last used first. One
   * organisation may have two of them, by two addresses.
   * @param of.organisationId if given, the memberships in this organisation alone
   */
  ofAccount(
    memberId: string,
    { organisationId, most }: { readonly organisationId?: string; readonly most: number },
  ): Promise<ConsoleMember[]> {
    return withMongoTimeout(timeoutMs, async (signal) => {
      const member = await this.members.findOne({ _id: memberId }, { signal });
      if (member?.account === undefined) return [];
      const own = { 'account.iss': member.account.iss, 'account.sub': member.account.sub };
      return await this.members
        .find({ ...own, ...notWithdrawn, ...(organisationId === undefined ? {} : { org: organisationId }) }, { signal })
        .sort({ last_sign_in_at: -1, _id: 1 })
        .limit(most)
        .toArray();
    });
  }

  async setRole(memberId: string, role: ConsoleMember['role']): Promise<void> {
    await this.members.updateOne({ _id: memberId }, { $set: { role } }, this.options);
  }

  async remove(memberId: string): Promise<void> {
    await this.members.deleteOne({ _id: memberId }, this.options);
  }

  /**
   * Finds the membership with which a person signs in, binds it to the account, and stores the time. All other
   * invitations of the verified address are bound too, so that the person can open these organisations.
   * @param organisationId the organisation to sign in to; undefined for the one that was used last
   * @returns undefined for a person without an invitation
   */
  async signIn(
    { iss, sub, verifiedEmail }: OidcIdentity,
    organisationId: string | undefined,
    now: Date,
  ): Promise<ConsoleMember | undefined> {
    const own = { 'account.iss': iss, 'account.sub': sub };
    // An unbound membership is an invitation. A verified address alone may not take over a bound one.
    const invited = { email: verifiedEmail ?? '', account: { $exists: false } };
    const chosen = organisationId === undefined ? {} : { org: organisationId };
    const found = await this.members.findOneAndUpdate(
      { $or: verifiedEmail === undefined ? [own] : [own, invited], ...notWithdrawn, ...chosen },
      { $set: { account: { iss, sub }, last_sign_in_at: now } },
      { ...this.options, sort: { last_sign_in_at: -1, _id: 1 }, returnDocument: 'after' },
    );
    if (found === null) return undefined;
    if (verifiedEmail !== undefined)
      await this.members.updateMany(invited, { $set: { account: { iss, sub } } }, this.options);
    return found;
  }

  /** Keeps the members of an organisation from signing in, or lets them again. */
  async setWithdrawn(organisationId: string, isWithdrawn: boolean): Promise<void> {
    const update = isWithdrawn ? { $set: { withdrawn: true as const } } : { $unset: { withdrawn: 1 as const } };
    await this.members.updateMany({ org: organisationId }, update, this.options);
  }

  private get options() {
    return this.session === undefined ? {} : { session: this.session };
  }
}
