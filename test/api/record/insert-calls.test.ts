import { expect } from 'chai';
import { MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb';
import { CallIsVoid, insertCalls } from '../../../api/record/insert-calls.js';
import { CommitUnknown } from '../../../api/record/transaction.js';
import type { CallDocument, WriteReport } from '../../../shared/store/calls/call-documents.js';

type Attempt = WriteReport | Error | 'never answered';

const documents = ['one', 'two', 'three'].map((_id) => ({ _id }) as CallDocument);
const confirmed: WriteReport = { duplicates: [], refused: new Map(), isConfirmed: true };
const unanswered = new MongoNetworkError('connection closed');
const stoppingCode = 11_600;
const serverError = (code: number) => new MongoServerError({ message: `code ${code}`, code });

/** Has MongoDB answer attempts in turn. */
async function written(
  attempts: readonly Attempt[],
  recordedCalls: readonly string[] = [],
  timeoutMs = 2_000,
) {
  const left = [...attempts];
  const insertEach = (): Promise<WriteReport> => {
    const attempt = left.shift();
    if (attempt === undefined) throw new Error('an attempt too many');
    if (attempt === 'never answered') return new Promise(() => undefined);
    return attempt instanceof Error ? Promise.reject(attempt) : Promise.resolve(attempt);
  };
  const writing = { insertEach, recordedCalls: async () => new Set(recordedCalls) };
  const outcome = await insertCalls(writing, documents, { timeoutMs }).catch((error: unknown) => error);
  expect(left, 'attempts that were not made').to.deep.equal([]);
  return outcome;
}

describe('insertCalls', () => {
  it('writes all at once where nothing is in the way', async () => {
    expect(await written([confirmed])).to.deep.equal([undefined, undefined, undefined]);
  });

  it('takes what is there already for its own, written by an attempt whose answer was lost', async () => {
    const again = { ...confirmed, duplicates: [0, 1, 2] };
    const all = ['one', 'two', 'three'];
    expect(await written([unanswered, again], all)).to.deep.equal([undefined, undefined, undefined]);
  });

  it('refuses a call in whose place a void row is, and no other', async () => {
    const outcome = await written([{ ...confirmed, duplicates: [1, 2] }], ['three']);
    expect(outcome).to.be.an('array').with.length(3);
    const [one, two, three] = outcome as readonly (Error | undefined)[];
    expect([one, three]).to.deep.equal([undefined, undefined]);
    expect(two).to.be.instanceOf(CallIsVoid);
  });

  it('tells of one document that it was refused', async () => {
    const tooLarge = new Error('too large');
    expect(await written([{ ...confirmed, refused: new Map([[1, tooLarge]]) }])).to.deep.equal([
      undefined,
      tooLarge,
      undefined,
    ]);
  });

  it('goes on until a majority has what was written', async () => {
    const unconfirmed = { ...confirmed, isConfirmed: false };
    const again = { ...confirmed, duplicates: [0, 1, 2] };
    const all = ['one', 'two', 'three'];
    expect(await written([unconfirmed, again], all)).to.deep.equal([undefined, undefined, undefined]);
  });

  it('tries again while the server is away or about to stop', async () => {
    const away = new MongoServerSelectionError('nobody there', {} as never);
    expect(await written([away, serverError(stoppingCode), confirmed])).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('does not know what became of calls that MongoDB answered with an error', async () => {
    expect(await written([serverError(14_031)])).to.be.instanceOf(CommitUnknown);
  });

  it('does not know what became of calls that no majority has yet when it can no longer ask', async () => {
    const unconfirmed = { ...confirmed, isConfirmed: false };
    expect(await written([unconfirmed, new TypeError('the client is closed')])).to.be.instanceOf(
      CommitUnknown,
    );
  });

  it('does not know what became of calls that it is told nothing of in time', async () => {
    expect(await written(['never answered'], [], 50)).to.be.instanceOf(CommitUnknown);
  });

  it('knows that nothing was written where nothing was sent', async () => {
    const unsendable = new TypeError('cannot be encoded');
    expect(await written([unsendable])).to.equal(unsendable);
    expect(await written([unanswered, unsendable])).to.be.instanceOf(CommitUnknown);
  });
});
