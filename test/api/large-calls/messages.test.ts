import { expect } from 'chai';
import { sentFailure, thrownFailure } from '../../../api/large-calls/messages.js';
import { CallerGone } from '../../../api/request/read-body.js';
import { ApiError } from '../../../shared/contract/errors.js';

/** The error that the main thread throws for one of the other thread. */
const received = (thrown: unknown): Error => thrownFailure(structuredClone(sentFailure(thrown)));

describe('a failure between the threads of a gateway', () => {
  it('is the same ApiError, with all that its answer and its log line show', () => {
    const lost = Object.assign(new Error('connection lost', { cause: new RangeError('port') }), { code: 'ECONNRESET' });
    const options = { retryAfterSeconds: 2, beside: { validation: { state: 'learning' } }, headers: { Allow: 'GET' } };
    const error = received(new ApiError('internalError', 'Not in time.', { ...options, cause: lost }));
    if (!(error instanceof ApiError)) throw error;
    const { cause, ...others } = error.options;
    expect(error).to.include({ errorName: 'internalError', message: 'Not in time.' });
    expect(error.entry.status).to.equal(500);
    expect(others).to.deep.equal(options);
    expect(cause).to.be.an.instanceOf(Error);
    expect(cause).to.include({ name: 'Error', message: 'connection lost', code: 'ECONNRESET', stack: lost.stack });
    expect((cause as Error).cause).to.include({ name: 'RangeError', message: 'port' });
  });

  it('has no cause when the ApiError has none', () => {
    const error = received(new ApiError('refusedRequest', 'There are no records.'));
    expect(error).to.be.an.instanceOf(ApiError);
    expect((error as ApiError).options).to.deep.equal({});
  });

  it('stays a caller who hung up, and an unexpected error', () => {
    expect(received(new CallerGone('gone')))
      .to.be.an.instanceOf(CallerGone)
      .and.include({ message: 'gone' });
    expect(received(new TypeError('no member'))).to.include({ name: 'TypeError', message: 'no member' });
  });

  it('passes values that cannot be cloned, and causes without end', () => {
    const endless = Object.assign(new Error('endless'), { retry: () => undefined });
    endless.cause = endless;
    expect(received(endless)).to.include({ message: 'endless' });
    expect(received('a text')).to.include({ message: 'a text' });
  });
});
