import { randomUUID } from 'node:crypto';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect } from 'chai';
import { AuthAttempts, unknownKeysAllowed } from '../../../api/auth/auth-attempts.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { failureOf } from '../../support/failure-of.js';

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} });
const caller = '203.0.113.7';
const minuteMs = 60_000;

describe('AuthAttempts', () => {
  let nowMs: number;
  let attempts: AuthAttempts;

  beforeEach(() => {
    nowMs = 1;
    attempts = new AuthAttempts({
      addressOf: ({ socket }) => socket.remoteAddress ?? '',
      nowMs: () => nowMs,
    });
  });

  /** Tries an unknown key. */
  const guess = async (address: string, hash: string = randomUUID()): Promise<'401' | ApiError> => {
    try {
      expect(await attempts.find(from(address), hash, async () => undefined)).to.equal(undefined);
      return '401';
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  };
  const statusOf = (outcome: '401' | ApiError): string => (outcome === '401' ? outcome : `${outcome.entry.status}`);
  /** Tries different unknown keys one after the other. */
  const guesses = async (address: string, count: number): Promise<string[]> => {
    const statuses: string[] = [];
    for (let index = 0; index < count; index += 1) statuses.push(statusOf(await guess(address)));
    return statuses;
  };
  const within = Array.from({ length: unknownKeysAllowed }, () => '401');

  it('refuses the 31st unknown key of an address with 429, and allows one more every two seconds', async () => {
    expect(await guesses(caller, unknownKeysAllowed)).to.deep.equal(within);
    const over = await guess(caller);
    expect(over).to.have.nested.property('entry.code', 'rate_limited');
    expect(over).to.have.nested.property('options.retryAfterSeconds', 2);
    nowMs += 2_000;
    expect(await guesses(caller, 2)).to.deep.equal(['401', '429']);
    nowMs += minuteMs;
    expect(await guesses(caller, unknownKeysAllowed + 1)).to.deep.equal([...within, '429']);
  });

  it('counts an unknown key once when it is repeated, also concurrently, and looks it up once', async () => {
    let lookUps = 0;
    const repeat = () =>
      attempts.find(from(caller), 'same', async () => {
        lookUps += 1;
        await nextIteration();
        return undefined;
      });
    await Promise.all([repeat(), repeat()]);
    expect(lookUps).to.equal(2);
    for (let time = 0; time < 3 * unknownKeysAllowed; time += 1) expect(await repeat()).to.equal(undefined);
    expect(lookUps).to.equal(2);
    expect(await guesses(caller, unknownKeysAllowed)).to.deep.equal([...within.slice(1), '429']);
    expect(await repeat()).to.equal(undefined);
  });

  it('counts each address on its own, and all addresses of an IPv6 /64 together', async () => {
    await guesses(caller, 2 * unknownKeysAllowed);
    expect(await guesses('203.0.113.8', 1)).to.deep.equal(['401']);
    await guesses('2001:db8::1', 2 * unknownKeysAllowed);
    expect(await guesses('2001:db8::2', 1)).to.deep.equal(['429']);
    expect(await guesses('2001:db8:0:1::2', 1)).to.deep.equal(['401']);
  });

  it('remembers ten thousand addresses and ten thousand keys at most', async () => {
    await guesses(caller, unknownKeysAllowed);
    await guess('192.0.2.1', 'first');
    for (let index = 0; index < 10_000; index += 1) await guess(`10.0.${index >> 8}.${index & 255}`);
    expect(await guesses(caller, 1), 'the oldest address is forgotten').to.deep.equal(['401']);
    let lookUps = 0;
    await attempts.find(from(caller), 'first', async () => {
      lookUps += 1;
      return undefined;
    });
    expect(lookUps, 'the oldest key is forgotten').to.equal(1);
  });

  it('looks up the keys of addresses over the limit four at a time, and finds known keys among them', async () => {
    await guesses(caller, unknownKeysAllowed);
    let inFlight = 0;
    let maxInFlight = 0;
    const ends: (() => void)[] = [];
    const find = (address: string) =>
      attempts.find(from(address), randomUUID(), async () => {
        inFlight += 1;
        maxInFlight = Math.max(maxInFlight, inFlight);
        await new Promise<void>((resolve) => ends.push(resolve));
        inFlight -= 1;
        return 'key';
      });
    // Four run and 256 wait: the queue allows one owner half of its length.
    const flood = Array.from({ length: 4 + 256 }, () => find(caller));
    const refused = await failureOf(find(caller));
    expect(refused).to.be.instanceOf(ApiError).and.to.include({ errorName: 'rateLimited' });
    expect(await attempts.find(from('203.0.113.8'), 'hash', async () => 'at once')).to.equal('at once');
    const all = Promise.all(flood);
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end();
      await nextIteration();
    }
    expect(new Set(await all)).to.deep.equal(new Set(['key']));
    expect(maxInFlight).to.equal(4);
  });

  it('throws the error of a failed look-up, and does not count it', async () => {
    const failure = new Error('no primary');
    const failed = () => failureOf(attempts.find(from(caller), 'hash', () => Promise.reject(failure)));
    expect(await failed()).to.equal(failure);
    expect(await guesses(caller, unknownKeysAllowed)).to.deep.equal(within);
    expect(await failed(), 'over the limit').to.equal(failure);
  });
});
