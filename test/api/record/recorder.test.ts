import { expect } from 'chai';
import { MongoClient, MongoServerError } from 'mongodb';
import { IdempotencyConflict } from '../../../api/admission/idempotency.js';
import { RecordedButUnanswered } from '../../../api/admission/metering.js';
import type { ScoredCall } from '../../../api/record/documents.js';
import { Recorder } from '../../../api/record/recorder.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { failureOf } from '../../support/failure-of.js';
import { deadlineIn, emptyModel, reservationIn, scoredRows, scoringCall } from '../../support/scoring/scoring-call.js';

/** A client whose sessions send nothing, because the writes of these tests do not use them. */
const client = new MongoClient('mongodb://localhost');

/** A call of a test key under an Idempotency-Key, which is recorded in a transaction. */
const keyedCall = (id: string, leftMs = 5_000): ScoredCall => ({
  call: scoringCall({
    id,
    bucket: 'test',
    idempotency: { key: id, name: 'Idempotency-Key', bodyHash: 'hash' },
    deadline: deadlineIn(leftMs),
  }),
  model: emptyModel,
  rows: scoredRows([]),
  reservation: reservationIn({ organisationId: 'org', bucket: 'test', month: '1970-01' }),
  writeWith: () => 'the reply',
});

/**
 * A recorder whose writes to the ledger and to the stored replies fail with these errors. Collects the transactions
 * that it begins.
 */
function recorderWith(fails: { readonly reply?: Error; readonly documents?: Error; readonly isSilent?: true }) {
  const done: string[] = [];
  const fail = async (error: Error | undefined): Promise<void> => {
    if (error !== undefined) throw error;
  };
  const startSession = () => {
    done.push('begin');
    return client.startSession();
  };
  const recorder = new Recorder({
    client: { startSession },
    calls: {
      insert: () => (fails.isSilent ? silence : fail(fails.documents)),
      insertEach: () => expect.fail('it was recorded without its reply'),
    },
    ledger: { recordedCalls: () => expect.fail('the ledger was read') },
    idempotency: { insert: () => fail(fails.reply) },
  });
  return { done, recorder };
}

/** A server that does not answer. */
const silence = new Promise<never>(() => undefined);

/** As of a database whose name has the word. */
const duplicateIn = (collection: string) =>
  new MongoServerError({ code: 11_000, message: `E11000 duplicate key error collection: idempotency.${collection}` });

describe('a call under an Idempotency-Key', () => {
  it('throws IdempotencyConflict when its reply exists, and internalError for any other duplicate', async () => {
    const elsewhere = recorderWith({ reply: duplicateIn('idempotency') });
    expect(await failureOf(elsewhere.recorder.record(keyedCall('one')))).to.be.instanceOf(IdempotencyConflict);
    const failed = recorderWith({ documents: duplicateIn('calls') });
    const failure = await failureOf(failed.recorder.record(keyedCall('one')));
    expect(failure).to.be.instanceOf(ApiError).and.not.instanceOf(RecordedButUnanswered);
    expect(failure).to.have.nested.property('options.retryAfterSeconds', 1);
    expect(failure).to.have.property('message', 'The scores could not be recorded.');
  });

  it('is not sent to MongoDB when its deadline passed while it waited, and needs no void', async () => {
    const { done, recorder } = recorderWith({});
    const failure = await failureOf(recorder.record(keyedCall('one', -1)));
    expect(failure).to.be.instanceOf(ApiError).and.not.instanceOf(RecordedButUnanswered);
    expect(failure).to.have.property('message', 'The scores could not be recorded in time.');
    expect(done).to.deep.equal([]);
  });

  it('says that its deadline passed whenever MongoDB did not answer until then', async () => {
    const { recorder } = recorderWith({ isSilent: true });
    // A time limit has whole milliseconds, so some of these end just before their deadline.
    for (let count = 0; count < 60; count += 1) {
      const failure = await failureOf(recorder.record(keyedCall('one', 10 + count / 60)));
      expect(failure).to.be.instanceOf(ApiError).and.not.instanceOf(RecordedButUnanswered);
      expect(failure).to.have.property('message', 'The scores could not be recorded in time.');
    }
  });
});
