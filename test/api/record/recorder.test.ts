import { expect } from 'chai';
import { MongoServerError } from 'mongodb';
import { IdempotencyConflict } from '../../../api/idempotency/idempotency.js';
import { RecordedButUnanswered } from '../../../api/metering/call-reservation.js';
import type { ScoredCall } from '../../../api/record/documents.js';
import { Recorder, type RecorderOptions } from '../../../api/record/recorder.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { CallIsFinal } from '../../../shared/store/calls/usage-ledger.js';
import { failureOf } from '../../support/failure-of.js';

/** A call of a test key under an Idempotency-Key, which is recorded in a transaction. */
const keyedCall = (id: string) =>
  ({
    call: {
      id,
      apiKey: { _id: 'key', organisation_id: 'org' },
      bucket: 'test',
      records: [{ crmId: null, fields: {} }],
      nameOfRecord: String,
      idempotency: { key: id, name: 'Idempotency-Key', bodyHash: 'hash' },
      atMs: 0,
      deadline: { monotonicMs: performance.now() + 5_000, redisMs: 0 },
    },
    model: { id: 'mdl', version: '1' },
    rows: { parts: [], fields: [] },
    reservation: { counter: { organisationId: 'org', bucket: 'test', month: '1970-01' } },
    writeWith: () => 'the reply',
  }) as unknown as ScoredCall;

/** A recorder on a database whose writes and commits end as the test says, and what it did there. */
function recorderWith(
  how: {
    readonly insert?: () => Promise<void>;
    readonly commit?: () => Promise<void>;
    readonly isGiven?: boolean;
    readonly isFinal?: boolean;
  } = {},
) {
  const { insert = async () => undefined, commit = async () => undefined, isGiven = false, isFinal = false } = how;
  const done: string[] = [];
  const session = {
    startTransaction: () => void done.push('begin'),
    commitTransaction: commit,
    abortTransaction: async () => void done.push('abort'),
    endSession: async () => undefined,
  };
  const options = {
    client: { startSession: () => session },
    calls: { insert: async () => undefined },
    ledger: {
      voidCall: async (callId: string) => {
        if (isFinal) throw new CallIsFinal(callId);
        done.push(`void ${callId}`);
      },
    },
    idempotency: { insert, removeCall: async () => !isGiven },
  };
  return { done, recorder: new Recorder(options as unknown as RecorderOptions) };
}

const duplicateIn = (collection: string) =>
  Promise.reject(
    new MongoServerError({
      code: 11_000,
      message: `E11000 duplicate key error collection: db.${collection}`,
    }),
  );

describe('a call under an Idempotency-Key', () => {
  it('is recorded with its reply', async () => {
    const { done, recorder } = recorderWith();
    expect(await recorder.record(keyedCall('one'))).to.equal('the reply');
    expect(done).to.deep.equal(['begin']);
  });

  it('may have been recorded when its commit is not confirmed, and is not written again', async () => {
    const { done, recorder } = recorderWith({ commit: () => Promise.reject(new Error('who knows')) });
    const calls = ['one', 'two'].map((id) => failureOf(recorder.record(keyedCall(id))));
    for (const failure of await Promise.all(calls)) expect(failure).to.be.instanceOf(RecordedButUnanswered);
    expect(done, 'both at once').to.deep.equal(['begin']);
  });

  it('throws IdempotencyConflict when its reply exists, and internalError for any other duplicate', async () => {
    const elsewhere = recorderWith({ insert: () => duplicateIn('idempotency') });
    expect(await failureOf(elsewhere.recorder.record(keyedCall('one')))).to.be.instanceOf(IdempotencyConflict);
    const failed = recorderWith({ insert: () => duplicateIn('calls') });
    const failure = await failureOf(failed.recorder.record(keyedCall('one')));
    expect(failure).to.be.instanceOf(ApiError).and.not.instanceOf(RecordedButUnanswered);
    expect(failure).to.have.nested.property('options.retryAfterSeconds', 1);
  });

  it('is voided, unless its reply was replayed', async () => {
    const taken = recorderWith();
    expect(await taken.recorder.voidCall('one')).to.equal(true);
    expect(taken.done).to.deep.equal(['begin', 'void one']);
    const stays = recorderWith({ isGiven: true });
    expect(await stays.recorder.voidCall('one')).to.equal(false);
    expect(stays.done).to.deep.equal(['begin']);
  });

  it('stays counted with its reply when it is too old to be voided', async () => {
    const { done, recorder } = recorderWith({ isFinal: true });
    expect(await recorder.voidCall('one')).to.equal(false);
    expect(done).to.deep.equal(['begin', 'abort']);
  });
});
