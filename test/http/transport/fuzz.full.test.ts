import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { RawConnection, requestBytes } from '../../support/http/raw-connection.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { fuzzedBytes, fuzzedCalls } from './fuzz/fuzzed-calls.js';

const bodyTimeoutMs = 400; // short, because many mutated requests never end
const deadlineMs = 10_000;
const atOnce = 8;
const statuses = [200, 400, 401, 404, 405, 422];

interface AnyAnswer {
  readonly error?: { readonly code: unknown; readonly message: unknown; readonly docs_url: unknown };
  readonly records_scored?: number;
  readonly test?: boolean;
}

describe('fuzzed calls', () => {
  const seed = randomInt(2 ** 31);
  let service: RunningService;
  let own: TestWorkspace;
  /** The scored records of the replies with 200, by bucket. */
  let scored: { live: number; test: number };
  let replies: Map<number, number>;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ environment: { BODY_TIMEOUT_MS: String(bodyTimeoutMs) } });
  });
  beforeEach(async () => {
    own = await workspace(service, { plan: 'enterprise', limit: 1_000_000 });
    scored = { live: 0, test: 0 };
    replies = new Map();
  });
  after(() => service.stop());

  const goodParts = () => ({
    modelId: own.model._id,
    secrets: [own.live.secret, own.live.secret, own.test.secret],
  });

  /** Asserts that a reply has the contract's form, and adds its scored records. */
  function note(reply: HttpReply): void {
    expect(reply.status, reply.text.slice(0, 300)).to.be.oneOf(statuses);
    replies.set(reply.status, (replies.get(reply.status) ?? 0) + 1);
    expect(reply.headers.get('x-request-id')).to.match(/^[\w.:-]{1,128}$/);
    const answer = JSON.parse(reply.text) as AnyAnswer;
    if (reply.status !== 200) {
      expect(answer.error).to.have.all.keys('code', 'message', 'docs_url');
      expect(answer.error?.message).to.be.a('string').and.have.length.within(1, 700);
    } else if (!reply.headers.has('idempotent-replayed')) {
      scored[answer.test === true ? 'test' : 'live'] += answer.records_scored ?? 1;
    }
  }

  async function expectCountedAsReplied(): Promise<void> {
    for (const bucket of ['live', 'test'] as const) {
      expect(await own.ledgerSum(bucket), `${bucket} records in the ledger`).to.equal(scored[bucket]);
      await eventually(async () => {
        expect(await own.redisUsage(bucket)).to.deep.equal({ used: scored[bucket], leased: 0 });
      });
    }
    expect(await own.predictions()).to.have.length(scored.live);
  }

  it(`answers mutated calls over kept-alive connections within 10 s, and counts only those with 200 (seed ${seed})`, async function () {
    this.timeout(120_000);
    const connections = new Map<number, RawConnection>();
    const calls = fc.array(fuzzedCalls(goodParts()), { minLength: atOnce, maxLength: atOnce });
    const property = fc.asyncProperty(calls, async (several) => {
      await Promise.all(
        several.map(async (call, lane) => {
          const connection = connections.get(lane) ?? (await RawConnection.open(service.url()));
          connections.set(lane, connection);
          const startMs = performance.now();
          connection.send(requestBytes(call));
          const reply = await connection.reply();
          expect(performance.now() - startMs, 'ms until the answer').to.be.below(deadlineMs);
          note(reply);
          if (reply.headers.get('connection') !== 'close') return;
          connection.destroy();
          connections.delete(lane);
        }),
      );
    });
    await fc.assert(property, { seed, numRuns: 150, endOnFailure: true });
    for (const connection of connections.values()) connection.destroy();
    // Enough valid and invalid calls for a meaningful test.
    expect(replies.get(200)).to.be.above(100);
    expect(replies.get(422)).to.be.above(100);
    await expectCountedAsReplied();
  });

  it(`answers requests with mutated bytes, and counts only those with 200 (seed ${seed})`, async function () {
    this.timeout(120_000);
    const requests = fc.array(fuzzedBytes(goodParts()), { minLength: 20, maxLength: 20 });
    const property = fc.asyncProperty(requests, async (several) => {
      await Promise.all(
        several.map(async (bytes) => {
          const connection = await RawConnection.open(service.url());
          connection.send(bytes);
          const isHead = bytes.subarray(0, 5).toString() === 'HEAD ';
          const reply = await connection.reply({ hasBody: !isHead });
          if (!isHead) note(reply);
          connection.destroy();
        }),
      );
    });
    await fc.assert(property, { seed, numRuns: 25, endOnFailure: true });
    expect(replies.get(400)).to.be.above(50);
    await expectCountedAsReplied();
  });
});
