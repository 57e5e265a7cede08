import { expect } from 'chai';
import { entryOf, maxTimeoutMs, type ScoredCall } from '../../../api/record/documents.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { maxDocumentBytes } from '../../../shared/store/calls/call-documents.js';
import {
  deadlineIn,
  emptyModel,
  reservationIn,
  scoredPart,
  scoredRows,
  scoringCall,
} from '../../support/scoring/scoring-call.js';

const dayMs = 24 * 60 * 60 * 1_000;
const atMs = Date.UTC(2026, 1, 1) - 1;

/** A call of two records in the last millisecond of January, reserved in February. */
function scoredCall({
  bucket = 'live',
  leftMs = 5_000,
  isKeyed = false,
}: {
  bucket?: 'live' | 'test';
  leftMs?: number;
  isKeyed?: boolean;
} = {}): ScoredCall {
  const part = scoredPart([50, 60], { likelihoods: [5_000, 6_000] });
  return {
    call: scoringCall({
      bucket,
      records: [
        { crmId: 'L-1', fields: {} },
        { crmId: null, fields: {} },
      ],
      nameOfRecord: String,
      idempotency: isKeyed ? { key: 'k', name: 'Idempotency-Key', bodyHash: 'hash' } : undefined,
      atMs,
      deadline: deadlineIn(leftMs, { arrivedRedisMs: 1_234 }),
    }),
    model: emptyModel,
    rows: scoredRows([part], ['["a"]', '["b"]']),
    reservation: reservationIn({ organisationId: 'org', bucket, month: '2026-02' }),
    writeWith: () => 'the reply',
  };
}

describe('entryOf', () => {
  it('counts a call in the month of its reservation', () => {
    const [document] = entryOf(scoredCall()).documents;
    expect(document).to.include({ _id: 'call', month: '2026-02', records: 2 });
    expect(document?.at).to.deep.equal(new Date(atMs));
  });

  it('stores when the body had arrived by the clock of Redis', () => {
    const [document] = entryOf(scoredCall()).documents;
    expect(document).to.deep.include({ arrived_at: new Date(1_234) });
  });

  it('keeps the reply of an Idempotency-Key for a day, and adds its size', () => {
    const { reply, bytes } = entryOf(scoredCall({ isKeyed: true }));
    expect(reply).to.include({ body_hash: 'hash', call_id: 'call', reply: 'the reply' });
    expect(reply?.expires_at).to.deep.equal(new Date(atMs + dayMs));
    const without = entryOf(scoredCall());
    expect(without.reply).to.equal(undefined);
    expect(bytes - without.bytes).to.equal('the reply'.length);
  });

  it('refuses a reply whose bytes MongoDB cannot store under an Idempotency-Key with 400', () => {
    const text = 'é'.repeat(maxDocumentBytes / 2);
    const call = { ...scoredCall({ isKeyed: true }), writeWith: () => text };
    expect(entryOf(call).reply?.reply).to.have.length(text.length);
    expect(() => entryOf({ ...call, writeWith: () => `${text}x` }))
      .to.throw(
        ApiError,
        /^The reply has 15\.94 MiB; .* fewer records, or send them without explain and input_report\. Nothing/,
      )
      .with.nested.property('entry.status', 400);
    expect(entryOf({ ...scoredCall(), writeWith: () => `${text}x` }).reply).to.equal(undefined);
  });

  it('gives a commit the timeout of its last call', () => {
    const entries = [100, 60_000, 200].map((leftMs) => entryOf(scoredCall({ leftMs })));
    expect(maxTimeoutMs(entries)).to.be.within(30_000, 60_000);
  });
});
