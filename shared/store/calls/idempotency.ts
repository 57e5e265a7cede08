import type { Collection, Db } from 'mongodb';
import type { UsageBucket } from '../../redis/keys.js';
import { type WriteOptions, withMongoTimeout } from '../connection/connect.js';

/** One document of `idempotency`: the 200 reply to a call with an Idempotency-Key. */
export interface IdempotentReply {
  /** `<organisation>:<bucket>:<Idempotency-Key>` */
  readonly _id: string;
  /** SHA-256 of route and body, in hexadecimal. */
  readonly body_hash: string;
  /** Id of the counted call. */
  readonly call_id: string;
  /** Body of the reply, as sent. */
  readonly reply: string;
  readonly expires_at: Date;
  /** When the reply was first replayed. From then on its call cannot be voided. */
  readonly replayed_at?: Date;
  /** Set when a lead was erased from the reply. */
  readonly erased?: true;
}

/** How long a reply can be replayed. */
export const idempotencyMs = 24 * 60 * 60 * 1000;

/** A counted call, and its organisation. */
export interface RecordedCall {
  readonly organisationId: string;
  readonly callId: string;
}

/** The range of `_id` of an organisation's replies; `_id` is the shard key. In ASCII `;` follows `:`. */
const idsOfReplies = (organisationId: string): { readonly $gte: string; readonly $lt: string } => ({
  $gte: `${organisationId}:`,
  $lt: `${organisationId};`,
});

const callIndex = { call_id: 1 } as const;

/** The `_id` of a caller's Idempotency-Key. */
export const idempotencyId = (organisationId: string, bucket: UsageBucket, key: string): string =>
  `${organisationId}:${bucket}:${key}`;

/** Stored replies. Each is written in the transaction of its ledger row, so only counted calls have one. */
export class IdempotencyStore {
  private readonly collection: Collection<IdempotentReply>;

  constructor(private readonly database: Db) {
    this.collection = database.collection<IdempotentReply>('idempotency');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ expires_at: 1 }, { expireAfterSeconds: 0 });
    await this.collection.createIndex(callIndex);
  }

  /** The reply of an id unless it has expired: MongoDB removes expired documents only once a minute. */
  async find(id: string, nowMs: number, timeoutMs: number): Promise<IdempotentReply | undefined> {
    const found = await withMongoTimeout(timeoutMs, (signal) =>
      // Checking the UTF-8 of a reply of 15 MiB again would delay other calls by 15 ms.
      this.collection.findOne({ _id: id }, { readConcern: 'majority', enableUtf8Validation: false, signal }),
    );
    return found !== null && found.expires_at.getTime() > nowMs ? found : undefined;
  }

  /** Stores replies within a transaction, which fails with a duplicate key error if a key exists. */
  async insert(replies: readonly IdempotentReply[], options: WriteOptions): Promise<void> {
    if (replies.length === 0) return;
    // An expired reply that MongoDB has not removed yet would cause a duplicate key error.
    // The service's clock, which set `expires_at`, may be ahead of MongoDB's.
    const nowMs = Math.max(Date.now(), ...replies.map((reply) => reply.expires_at.getTime() - idempotencyMs));
    await this.collection.deleteMany(
      { _id: { $in: replies.map((reply) => reply._id) }, expires_at: { $lte: new Date(nowMs) } },
      options,
    );
    await this.database.command({ insert: 'idempotency', documents: replies, ordered: true }, options);
  }

  /** Replaces a stored reply, unless a lead was erased from it: the new text may name the lead. */
  async amend(id: string, reply: string, timeoutMs: number): Promise<void> {
    await withMongoTimeout(timeoutMs, () =>
      this.collection.updateOne({ _id: id, erased: { $exists: false } }, { $set: { reply } }),
    );
  }

  /**
   * Marks a reply as replayed, so that its call can no longer be voided.
   * @returns false if the call was voided before
   */
  async markReplayed({ _id, call_id }: IdempotentReply, timeoutMs: number): Promise<boolean> {
    const { matchedCount } = await withMongoTimeout(timeoutMs, () =>
      this.collection.updateOne(
        { _id, call_id },
        { $set: { replayed_at: new Date() } },
        { writeConcern: { w: 'majority' } },
      ),
    );
    return matchedCount === 1;
  }

  /**
   * Removes the id of a lead and everything derived from its fields from the stored replies; the scores stay.
   * @param lead.callIds live calls that scored the lead. Calls of test keys leave no predictions, so all their replies
   * are searched.
   */
  async eraseLead(lead: {
    readonly organisationId: string;
    readonly crmId: string;
    readonly callIds: readonly string[];
  }): Promise<void> {
    const { organisationId, crmId, callIds } = lead;
    const named = `,"crm_id":${JSON.stringify(crmId)}`; // as in a row of a reply
    const ofTestKeys = { $gte: idempotencyId(organisationId, 'test', ''), $lt: `${organisationId}:test;` };
    const foundAt = { $indexOfBytes: ['$reply', { $literal: named }] };
    const ofCalls = { call_id: { $in: [...callIds] }, _id: idsOfReplies(organisationId) };
    const naming = { $expr: { $gte: [foundAt, 0] } };
    const [live, test] = await Promise.all([
      this.collection.find({ ...ofCalls, ...naming }, { projection: { _id: 1 }, hint: callIndex }).toArray(),
      this.collection.find({ _id: ofTestKeys, ...naming }, { projection: { _id: 1 } }).toArray(),
    ]);
    // One at a time, because a reply may have megabytes.
    for (const { _id } of [...live, ...test]) await this.eraseFrom(_id, crmId);
  }

  /** Removes all replies to test keys. Which leads they name is not stored beside them. */
  async removeTestReplies(): Promise<void> {
    await this.collection.deleteMany({ _id: /^[^:]*:test:/ });
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
      // Try again if its call or the erasure of another lead changed the reply in between.
      if (matchedCount > 0) return;
    }
  }

  /**
   * Removes the reply of a call within a transaction.
   * @returns false if the reply was replayed before and therefore stays
   */
  async removeCall({ organisationId, callId }: RecordedCall, options: WriteOptions): Promise<boolean> {
    const ofCall = { call_id: callId, _id: idsOfReplies(organisationId) };
    const reply = await this.collection.findOne(ofCall, { ...options, hint: callIndex });
    if (reply === null) return true;
    if (reply.replayed_at !== undefined) return false;
    await this.collection.deleteOne({ _id: reply._id }, options);
    return true;
  }
}

/** A JSON object. */
type JsonObject = Readonly<Record<string, unknown>>;

const reasons: ReadonlySet<string> = new Set(['top_reason_1', 'top_reason_2', 'top_reason_3']);
/** Members of a reply that quote values of the records. */
const reports: ReadonlySet<string> = new Set(['input', 'input_summary']);

/**
 * The reply of a scoring call without the data of an erased lead. Its rows keep the score, and look like rows of a
 * record without a crm_id, drivers and warnings.
 * @param reply body of a batch reply, or of a webhook's flat reply
 */
function replyWithoutLead(reply: string, crmId: string): string {
  const answer = JSON.parse(reply) as JsonObject;
  const { scores } = answer;
  if (!Array.isArray(scores)) return JSON.stringify(rowWithoutLead(answer, crmId));
  const rows = scores.map((row: JsonObject) => rowWithoutLead(row, crmId));
  // The examples of the summary may be values of the lead.
  return JSON.stringify({ ...answer, scores: rows, input_summary: undefined });
}

function rowWithoutLead(row: JsonObject, crmId: string): JsonObject {
  if (row.crm_id !== crmId) return row;
  return changed(row, (name, value) => {
    // A warning reveals the age of the record, which comes from one of its fields.
    if (name === 'crm_id' || name === 'warnings' || reports.has(name)) return undefined;
    if (name === 'drivers') return [];
    if (reasons.has(name)) return null;
    return name === 'outputFields' ? outputWithoutLead(value as JsonObject) : value;
  });
}

/** HubSpot's `outputFields` leave out empty members. */
const outputWithoutLead = (output: JsonObject): JsonObject =>
  changed(output, (name, value) => (name === 'crm_id' || reasons.has(name) ? undefined : value));

/** Maps the values of an object in the same order, and leaves out members whose new value is undefined. */
function changed(members: JsonObject, newValue: (name: string, value: unknown) => unknown): JsonObject {
  const entries = Object.entries(members).map(([name, value]) => [name, newValue(name, value)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
