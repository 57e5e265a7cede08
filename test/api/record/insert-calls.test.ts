import { expect } from 'chai';
import { MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { CallIsVoid, insertCalls } from '../../../api/record/insert-calls.js';
import type { CallDocument, WriteReport } from '../../../shared/store/calls/call-documents.js';
import { CommitUnknown } from '../../../shared/store/connection/transaction.js';

type Attempt = WriteReport | Error | 'never answered';

const documents = ['one', 'two', 'three'].map((_id) => ({ _id }) as CallDocument);
const confirmed: WriteReport = { duplicates: [], failed: new Map(), isConfirmed: true };
const unanswered = new MongoNetworkError('connection closed');
const stoppingCode = 11_600;
const serverError = (code: number) => new MongoServerError({ message: `code ${code}`, code });

/** The outcome of `insertCalls` on a MongoDB that answers its attempts with these results, in order. */
async function written(attempts: readonly Attempt[], recordedCalls: readonly string[] = [], timeoutMs = 2_000) {
  const left = [...attempts];
  const insertEach = (): Promise<WriteReport> => {
    const attempt = left.shift();
    if (attempt === undefined) throw new Error('unexpected attempt');
    if (attempt === 'never answered') return new Promise(() => undefined);
    return attempt instanceof Error ? Promise.reject(attempt) : Promise.resolve(attempt);
  };
  const writing = { insertEach, recordedCalls: async () => new Set(recordedCalls) };
  const outcome = await insertCalls(writing, documents, { timeoutMs }).catch((error: unknown) => error);
  expect(left, 'missing attempts').to.deep.equal([]);
  return outcome;
}

describe('insertCalls', () => {
  it('writes all calls with one insert', async () => {
    expect(await written([confirmed])).to.deep.equal([undefined, undefined, undefined]);
  });

  it('accepts an existing document as its own, from an attempt whose answer was lost', async () => {
    const again = { ...confirmed, duplicates: [0, 1, 2] };
    const all = ['one', 'two', 'three'];
    expect(await written([unanswered, again], all)).to.deep.equal([undefined, undefined, undefined]);
  });

  it('rejects only the call whose row is void', async () => {
    const outcome = await written([{ ...confirmed, duplicates: [1, 2] }], ['three']);
    expect(outcome).to.be.an('array').with.length(3);
    const [one, two, three] = outcome as readonly (Error | undefined)[];
    expect([one, three]).to.deep.equal([undefined, undefined]);
    expect(two).to.be.instanceOf(CallIsVoid);
  });

  it('returns the error of the one document that MongoDB refused', async () => {
    for (const code of [2, 14, 121, 10_334]) {
      const error = serverError(code);
      const outcome = await written([{ ...confirmed, failed: new Map([[1, error]]) }]);
      expect(outcome).to.deep.equal([undefined, error, undefined]);
    }
  });

  it('returns CommitUnknown for a document whose error does not prove that it was not written', async () => {
    // As a mongos reports them: HostUnreachable, NetworkTimeout, PrimarySteppedDown, a stepdown during the write.
    for (const code of [6, 89, 189, 11_602]) {
      const outcome = await written([{ ...confirmed, failed: new Map([[1, serverError(code)]]) }]);
      const [one, two, three] = outcome as readonly (Error | undefined)[];
      expect([one, three]).to.deep.equal([undefined, undefined]);
      expect(two).to.be.instanceOf(CommitUnknown);
    }
  });

  it('repeats until a majority has confirmed the write', async () => {
    const unconfirmed = { ...confirmed, isConfirmed: false };
    const again = { ...confirmed, duplicates: [0, 1, 2] };
    const all = ['one', 'two', 'three'];
    expect(await written([unconfirmed, again], all)).to.deep.equal([undefined, undefined, undefined]);
  });

  it('retries while the server is away or shutting down', async () => {
    const away = new MongoServerSelectionError('nobody there', {} as never);
    expect(await written([away, serverError(stoppingCode), confirmed])).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('throws CommitUnknown when MongoDB answers with an error', async () => {
    expect(await written([serverError(14_031)])).to.be.instanceOf(CommitUnknown);
  });

  it('throws CommitUnknown when no majority has confirmed before a final error', async () => {
    const unconfirmed = { ...confirmed, isConfirmed: false };
    expect(await written([unconfirmed, new TypeError('the client is closed')])).to.be.instanceOf(CommitUnknown);
  });

  it('throws CommitUnknown when MongoDB does not answer in time', async () => {
    expect(await written(['never answered'], [], 50)).to.be.instanceOf(CommitUnknown);
  });

  it('throws the plain error when nothing was sent', async () => {
    const unsendable = new TypeError('cannot be encoded');
    expect(await written([unsendable])).to.equal(unsendable);
    expect(await written([unanswered, unsendable])).to.be.instanceOf(CommitUnknown);
  });
});
