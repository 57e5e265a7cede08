import type { Collection, Db } from 'mongodb';
import type { UsageBucket } from '../redis-keys.js';
import type { WriteOptions } from './connect.js';
import { inTime } from './in-time.js';
import { replyWithoutLead } from './reply-without-lead.js';

/** One document of `idempotency`: the 200 that a call with an Idempotency-Key was answered with. */
export interface IdempotentReply {
  /** `<organisation>:<bucket>:<key of the caller>` */
  readonly _id: string;
  /** SHA-256 of route and body, hex. */
  readonly body_hash: string;
  /** The call that was counted. */
  readonly call_id: string;
  /** The body of the answer, as sent. */
  readonly reply: string;
  readonly expires_at: Date;
  /** When it was first given again. The call that it answers can then not be taken back any more. */
  readonly replayed_at?: Date;
  /** Set when a lead was erased from it. */
  readonly erased?: true;
}

/** How long a reply can be had again. */
export const idempotencyMs = 24 * 60 * 60 * 1000;

/** The `_id` of a caller's key. */
export const idempotencyId = (organisationId: string, bucket: UsageBucket, key: string): string =>
  `${organisationId}:${bucket}:${key}`;

/** Replies to replay; written in the same transaction as the ledger row, so they exist exactly when the call counted. */
export class IdempotencyStore {
  private readonly collection: Collection<IdempotentReply>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<IdempotentReply>('idempotency');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ expires_at: 1 }, { expireAfterSeconds: 0 });
    await this.collection.createIndex({ call_id: 1 });
  }

  /** The reply kept under an id, unless it has expired by `nowMs` (MongoDB removes expired ones once a minute). */
  async find(id: string, nowMs: number, timeoutMs: number): Promise<IdempotentReply | undefined> {
    const found = await inTime(timeoutMs, (signal) =>
      this.collection.findOne({ _id: id }, { readConcern: 'majority', signal }),
    );
    return found !== null && found.expires_at.getTime() > nowMs ? found : undefined;
  }

  /** Keeps replies, inside a transaction; a key that is already there makes it fail with a duplicate key error. */
  async insert(replies: readonly IdempotentReply[], options: WriteOptions): Promise<void> {
    if (replies.length === 0) return;
    // An expired one that MongoDB has not removed yet must not be in the way; the service's clock may be ahead of its.
    const nowMs = Math.max(Date.now(), ...replies.map((reply) => reply.expires_at.getTime() - idempotencyMs));
    await this.collection.deleteMany(
      { _id: { $in: replies.map((reply) => reply._id) }, expires_at: { $lte: new Date(nowMs) } },
      options,
    );
    await this.database.command({ insert: 'idempotency', documents: replies, ordered: true }, options);
  }

  /** Puts another text in the place of a reply that is kept, unless a lead was erased from it, which the text may name. */
  async amend(id: string, reply: string, timeoutMs: number): Promise<void> {
    await inTime(timeoutMs, () =>
      this.collection.updateOne({ _id: id, erased: { $exists: false } }, { $set: { reply } }),
    );
  }

  /**
   * Says that a reply is about to be given again, so that the call is not taken back from then on.
   * @returns false when it was taken back before
   */
  async markReplayed({ _id, call_id }: IdempotentReply, timeoutMs: number): Promise<boolean> {
    const { matchedCount } = await inTime(timeoutMs, () =>
      this.collection.updateOne(
        { _id, call_id },
        { $set: { replayed_at: new Date() } },
        { writeConcern: { w: 'majority' } },
      ),
    );
    return matchedCount === 1;
  }

  /**
   * Takes a lead's id, and what was made of its fields, out of the replies that are kept; the scores stay, as nobody's.
   * @param lead.callIds live calls that scored it; calls of test keys leave no predictions and are all looked through
   */
  async eraseLead(lead: {
    readonly organisationId: string;
    readonly crmId: string;
    readonly callIds: readonly string[];
  }): Promise<void> {
    const { organisationId, crmId, callIds } = lead;
    const named = `,"crm_id":${JSON.stringify(crmId)}`; // as a row of a reply has it
    const ofTestKeys = { $gte: idempotencyId(organisationId, 'test', ''), $lt: `${organisationId}:test;` };
    const place = { $indexOfBytes: ['$reply', { $literal: named }] };
    const naming = {
      $or: [{ call_id: { $in: [...callIds] } }, { _id: ofTestKeys }],
      $expr: { $gte: [place, 0] },
    };
    const found = await this.collection.find(naming, { projection: { _id: 1 } }).toArray();
    // One at a time: a reply may have megabytes.
    for (const { _id } of found) await this.eraseFrom(_id, crmId);
  }

  private async eraseFrom(id: string, crmId: string): Promise<void> {
    for (;;) {
      const kept = await this.collection.findOne({ _id: id }, { projection: { reply: 1 } });
      if (kept === null) return;
      const { matchedCount } = await this.collection.updateOne(
        { _id: id, reply: kept.reply },
        { $set: { reply: replyWithoutLead(kept.reply, crmId), erased: true } },
        { writeConcern: { w: 'majority' } },
      );
      // Otherwise it was changed meanwhile: by its own call, or because another of its leads was erased.
      if (matchedCount > 0) return;
    }
  }

  /**
   * Takes the reply of a call back, inside a transaction.
   * @returns false when it was given again before: it then stays
   */
  async removeCall(callId: string, options: WriteOptions): Promise<boolean> {
    const reply = await this.collection.findOne({ call_id: callId }, options);
    if (reply === null) return true;
    if (reply.replayed_at !== undefined) return false;
    await this.collection.deleteOne({ call_id: callId }, options);
    return true;
  }
}
