import { expect } from 'chai';
import type { MongoServerError } from 'mongodb';
import { CallIsVoid, groupCommit, insertCalls } from '../../../api/record/insert-calls.js';
import { callIdGenerator, newId } from '../../../shared/contract/identifiers.js';
import {
  type CallDocument,
  CallDocuments,
  documentBytes,
  maxDocumentBytes,
} from '../../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { CommitUnknown, inTransaction } from '../../../shared/store/connection/transaction.js';
import { documentsOfCall } from '../../support/service/prediction-rows.js';
import { freshDatabases } from '../../support/service/servers.js';

const mebibyte = 1024 * 1024;

describe('a commit of documents that are too large for one command', function () {
  this.timeout(60_000);
  let mongo: Mongo;
  let calls: CallDocuments;
  let ledger: UsageLedger;
  const org = newId('org');
  const newCallId = callIdGenerator();

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    calls = new CallDocuments(mongo.database);
    ledger = new UsageLedger(mongo.database);
  });
  after(() => mongo.client.close());

  /** A call of one document with this number of estimated bytes. */
  function documentOf(bytes: number): CallDocument {
    const at = new Date();
    const call = {
      _id: newCallId(at.getTime(), org),
      org,
      bucket: 'live',
      month: '2026-01',
      records: 1,
      at,
    } as const;
    const [document] = documentsOfCall(call);
    if (document === undefined) throw new Error('a call has no document');
    const rest = documentBytes({ ...document, fields: [''] });
    return { ...document, fields: ['é'.repeat((bytes - rest) / 2)] };
  }
  const written = (documents: readonly CallDocument[]) =>
    mongo.database
      .collection<CallDocument>(callsCollection)
      .countDocuments({ _id: { $in: documents.map(({ _id }) => _id) } });
  const writing = () => ({
    insertEach: calls.insertEach.bind(calls),
    recordedCalls: ledger.recordedCalls.bind(ledger),
  });
  const insert = (documents: readonly CallDocument[]) => insertCalls(writing(), documents, { timeoutMs: 50_000 });
  /** The outcome of each document, in a group commit. */
  const commitAll = (documents: readonly CallDocument[]) => {
    const deadline = { monotonicMs: performance.now() + 60_000 };
    const entryOf = (document: CallDocument) => ({
      document,
      deadline,
      records: 1,
      bytes: documentBytes(document),
    });
    const commit = groupCommit<ReturnType<typeof entryOf>>((entries) => insert(entries.map((entry) => entry.document)));
    return Promise.all(
      documents.map((document) =>
        commit(entryOf(document)).then(
          () => undefined,
          (error: unknown) => error,
        ),
      ),
    );
  };
  const sizes = [6 * mebibyte, 2_000, 6 * mebibyte, 2_000, maxDocumentBytes];

  it('is written by several commands, and returns the outcome of each document by its position', async () => {
    const documents = sizes.map(documentOf);
    const third = documents[2];
    const voided = third?._id ?? '';
    await inTransaction(mongo.client, (options) => ledger.voidCall(voided, options), { timeoutMs: 5_000 });
    await calls.insertEach(documents.slice(3, 4), AbortSignal.timeout(5_000));
    const [one, two, three, four, five] = await commitAll(documents);
    expect([one, two, four, five]).to.deep.equal([undefined, undefined, undefined, undefined]);
    expect(three).to.be.instanceOf(CallIsVoid);
    expect(await written(documents)).to.equal(5);
  });

  it('is written in one transaction', async () => {
    const documents = sizes.map(documentOf);
    await inTransaction(mongo.client, (options) => calls.insert(documents, options), { timeoutMs: 50_000 });
    expect(await written(documents)).to.equal(5);
  });

  it('fails without CommitUnknown and writes nothing when it is sent as one command', async () => {
    const documents = [documentOf(2_000), documentOf(8.2 * mebibyte), documentOf(8.2 * mebibyte)];
    const refusal: MongoServerError = await calls.insertEach(documents, AbortSignal.timeout(5_000)).then(
      () => expect.fail('written'),
      (error) => error,
    );
    expect(refusal.code).to.equal(10_334);
    expect(await written(documents)).to.equal(0);
    const tooLarge = await insert([documentOf(16.4 * mebibyte)]).catch((error: unknown) => error);
    expect(tooLarge).to.be.an('error').and.not.instanceOf(CommitUnknown);
  });

  it("fails only the document that is larger than MongoDB's limit", async () => {
    const documents = [documentOf(2_000), documentOf(16.4 * mebibyte), documentOf(2_000)];
    const [one, two, three] = await commitAll(documents);
    expect([one, three]).to.deep.equal([undefined, undefined]);
    expect(two).to.be.an('error').and.not.instanceOf(CommitUnknown);
  });
});
