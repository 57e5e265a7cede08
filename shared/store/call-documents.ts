import { type Db, MongoServerError } from 'mongodb';
import { Unfit } from '../start-step.js';
import { callsCollection } from './calls-collection.js';
import type { WriteOptions } from './connect.js';
import { inCommands } from './document-bytes.js';
import type { PredictionSlice } from './prediction-slice.js';
import type { LedgerRow } from './usage-ledger.js';

/** A document of a call, as it is written. */
export type CallDocument = (LedgerRow & Partial<PredictionSlice>) | PredictionSlice;

/** What is recorded of a call; `slices` are none for a call of a test key. */
export function callDocuments(row: LedgerRow, slices: readonly PredictionSlice[]): CallDocument[] {
  const [first, ...others] = slices;
  if (first === undefined) return [row];
  // Member by member: to spread the row costs ten times as much.
  const document = {
    _id: row._id,
    request_id: row.request_id,
    org: row.org,
    key: row.key,
    bucket: row.bucket,
    month: row.month,
    records: row.records,
    model: row.model,
    version: row.version,
    at: row.at,
    crm_ids: first.crm_ids,
    scores: first.scores,
    likelihoods: first.likelihoods,
    fields: first.fields,
    without_crm_id: first.without_crm_id,
    erased: first.erased,
  } satisfies Record<keyof (Omit<LedgerRow, 'voided_at'> & PredictionSlice), unknown>;
  return [document, ...others];
}

/** What became of documents that were written each by itself. */
export interface WriteReport {
  /** Places of those whose `_id` was there before. */
  readonly duplicates: readonly number[];
  /** Those that MongoDB refused, by their place. */
  readonly refused: ReadonlyMap<number, Error>;
  /** Whether a majority has what was written. */
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

const duplicateKey = 11_000;
const collectionExists = 48;
/** What calls were kept in before the first release. */
const earlierCollections = ['predictions', 'usage_ledger'];

/** The database holds calls in a form from before the first release. */
export class EarlierForm extends Unfit {
  override name = 'EarlierForm';

  constructor() {
    super(
      'this database was written by a Leadscore from before its first release, which kept calls in another form: ' +
        'use another database, or drop this one (that of npm start and npm run demo is in .local/data)',
    );
  }
}

/** Writes calls. What is in them is read by `UsageLedger` and `PredictionStore`. */
export class CallDocuments {
  constructor(private readonly database: Db) {}

  /**
   * Creates the collection, clustered by `_id`: one B-tree less to write.
   * @throws EarlierForm
   */
  async prepare(): Promise<void> {
    for (const name of earlierCollections)
      if ((await this.database.collection(name).findOne()) !== null) throw new EarlierForm();
    try {
      await this.database.createCollection(callsCollection, {
        clusteredIndex: { key: { _id: 1 }, unique: true },
      });
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === collectionExists)) throw error;
    }
  }

  /** Writes documents inside a transaction; it fails where one of them is there already. */
  async insert(documents: readonly CallDocument[], options: WriteOptions): Promise<void> {
    for (const command of inCommands(documents)) await this.database.command(insertion(command), options);
  }

  /**
   * Writes documents, each by itself, with `w: majority`: no more than one command can hold.
   * @throws what MongoDB or the connection says: any of them may have been written
   */
  async insertEach(documents: readonly CallDocument[], signal: AbortSignal): Promise<WriteReport> {
    const command = { ...insertion(documents), writeConcern: { w: 'majority' } };
    const { writeErrors = [], writeConcernError }: InsertReply = await this.database.command(command, {
      signal,
    });
    const refused = writeErrors.filter(({ code }) => code !== duplicateKey);
    return {
      duplicates: writeErrors.flatMap(({ index, code }) => (code === duplicateKey ? index : [])),
      refused: new Map(refused.map(({ index, errmsg }) => [index, new Error(errmsg)])),
      isConfirmed: writeConcernError === undefined,
    };
  }
}

/** A plain insert command: the driver's insertMany first works out the size of each document, which costs as much again. */
const insertion = (documents: readonly CallDocument[]) => ({
  insert: callsCollection,
  documents,
  ordered: false,
});
