import { type Db, MongoServerError } from 'mongodb';
import { duplicateKey, type WriteOptions } from '../connection/connect.js';
import { callsCollection, type PredictionSegment } from './prediction-segment.js';
import type { LedgerRow } from './usage-ledger.js';

/** A document of the collection `calls`, as it is written. */
export type CallDocument = (LedgerRow & Partial<PredictionSegment>) | PredictionSegment;

/** The documents that record a call; a call of a test key has no segments. */
export function callDocuments(row: LedgerRow, segments: readonly PredictionSegment[]): CallDocument[] {
  const [first, ...others] = segments;
  if (first === undefined) return [row];
  // Copied member by member, because spreading the row costs ten times as much.
  const document = {
    _id: row._id,
    request_id: row.request_id,
    org: row.org,
    o: first.o,
    key: row.key,
    bucket: row.bucket,
    month: row.month,
    records: row.records,
    model: row.model,
    version: row.version,
    at: row.at,
    arrived_at: first.arrived_at,
    crm_ids: first.crm_ids,
    scores: first.scores,
    likelihoods: first.likelihoods,
    fields: first.fields,
    without_crm_id: first.without_crm_id,
    erased: first.erased,
  } satisfies Record<keyof Omit<LedgerRow & PredictionSegment, 'voided_at' | 'source'>, unknown>;
  return [row.source === undefined ? document : { ...document, source: row.source }, ...others];
}

/** Result of writing documents independently of one another. */
export interface WriteReport {
  /** Indexes of the documents whose `_id` existed before. */
  readonly duplicates: readonly number[];
  /** Errors of the other documents that have one, by index. Only some codes prove that nothing was written. */
  readonly failed: ReadonlyMap<number, MongoServerError>;
  /** Whether a majority of the replica set has the writes. */
  readonly isConfirmed: boolean;
}

interface InsertReply {
  readonly writeErrors?: readonly {
    readonly index: number;
    readonly code: number;
    readonly errmsg: string;
  }[];
  readonly writeConcernError?: unknown;
}

/** Writes the collection `calls`, which `UsageLedger` and `PredictionStore` read. */
export class CallDocuments {
  constructor(private readonly database: Db) {}

  /** Writes documents within a transaction, which fails if one of them exists. */
  async insert(documents: readonly CallDocument[], options: WriteOptions): Promise<void> {
    for (const command of inCommands(documents)) await this.database.command(insertion(command), options);
  }

  /**
   * Writes documents independently of one another, with `w: majority`.
   * @param documents at most as many as one command can hold
   * @throws the driver's error: any of the documents may have been written
   */
  async insertEach(documents: readonly CallDocument[], signal: AbortSignal): Promise<WriteReport> {
    const command = { ...insertion(documents), writeConcern: { w: 'majority' } };
    const { writeErrors = [], writeConcernError }: InsertReply = await this.database.command(command, {
      signal,
    });
    const failed = writeErrors.filter(({ code }) => code !== duplicateKey);
    return {
      duplicates: writeErrors.flatMap(({ index, code }) => (code === duplicateKey ? index : [])),
      failed: new Map(failed.map((error) => [error.index, new MongoServerError(error)])),
      isConfirmed: writeConcernError === undefined,
    };
  }
}

/** A plain command costs half of `insertMany`, which first computes the BSON size of each document. */
const insertion = (documents: readonly CallDocument[]) => ({
  insert: callsCollection,
  documents,
  ordered: false,
});

/** The columns that make a document large: up to two strings a record. */
interface TextColumns {
  readonly crm_ids?: readonly (string | null)[];
  readonly fields?: readonly (string | null)[];
}

const mebibyte = 1024 * 1024;
/** MongoDB's limit of a document or command is 16 MiB; 64 KiB are reserved because sizes are estimates. */
export const maxDocumentBytes = 16 * mebibyte - 64 * 1024;
/** Limit of a command with several documents: half of MongoDB's, because sizes are estimates. */
export const maxCommandBytes = 8 * mebibyte;

/** Estimated bytes of a document without its columns. */
const documentOverhead = 1_024;
/** Estimated bytes of a record without its strings. */
const recordOverhead = 64;

/** Upper estimate of a document's BSON size, from the lengths of its strings. */
export function documentBytes(document: TextColumns): number {
  let bytes = documentOverhead;
  for (const text of document.fields ?? []) bytes += recordOverhead + Buffer.byteLength(text ?? '');
  for (const text of document.crm_ids ?? []) bytes += Buffer.byteLength(text ?? '');
  return bytes;
}

/** Splits documents into the fewest commands that respect the limit, in order. */
export function inCommands<Document extends TextColumns>(documents: readonly Document[]): (readonly Document[])[] {
  if (documents.length <= 1) return [documents];
  const commands: Document[][] = [];
  let command: Document[] = [];
  let together = 0;
  for (const document of documents) {
    const bytes = documentBytes(document);
    together += bytes;
    if (command.length === 0 || together > maxCommandBytes) {
      command = [];
      commands.push(command);
      together = bytes;
    }
    command.push(document);
  }
  return commands;
}
