import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { AuthAttempts, unknownKeysAllowed } from '../../../api/auth/auth-attempts.js';
import { ApiError } from '../../../shared/contract/errors.js';

const otherwise = new ApiError('invalidApiKey', 'The API key is unknown.');
const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} });
const minuteMs = 60_000;

describe('unknown keys', () => {
  let nowMs: number;
  let unknownKeys: AuthAttempts;

  beforeEach(() => {
    nowMs = 0;
    unknownKeys = new AuthAttempts({
      addressOf: ({ socket }) => socket.remoteAddress ?? '',
      nowMs: () => nowMs,
    });
  });

  /** Tries so many keys, each another one. */
  const tryOften = (address: string, times: number): ApiError[] =>
    Array.from({ length: times }, () => again(address, randomUUID()));
  const again = (address: string, hash: string): ApiError =>
    unknownKeys.refusalOf(from(address), hash, otherwise);

  it('are refused as such up to the limit, and then with when to come back', () => {
    for (const error of tryOften('203.0.113.7', unknownKeysAllowed)) expect(error).to.equal(otherwise);
    const [over] = tryOften('203.0.113.7', 1);
    expect(over?.entry).to.include({ status: 429, code: 'rate_limited' });
    expect(over?.options.retryAfterSeconds).to.equal(2);
    nowMs += 2_000;
    expect(tryOften('203.0.113.7', 2).map(({ errorName }) => errorName)).to.deep.equal([
      'invalidApiKey',
      'rateLimited',
    ]);
    nowMs += minuteMs;
    const names = tryOften('203.0.113.7', unknownKeysAllowed + 1).map(({ errorName }) => errorName);
    expect(names.indexOf('rateLimited')).to.equal(unknownKeysAllowed);
  });

  it('count once when the same one comes again and again, and twice when another came in between', () => {
    for (let time = 0; time < 3 * unknownKeysAllowed; time += 1)
      expect(again('203.0.113.7', 'same')).to.equal(otherwise);
    for (const error of tryOften('203.0.113.7', unknownKeysAllowed - 1)) expect(error).to.equal(otherwise);
    expect(again('203.0.113.7', 'same').errorName).to.equal('rateLimited');
    expect(again('203.0.113.7', 'same')).to.equal(otherwise);
    expect(tryOften('203.0.113.7', 1)[0]?.errorName).to.equal('rateLimited');
  });

  it('that come again are looked up four at a time, as often as they come', async () => {
    again('203.0.113.7', 'same');
    let atOnce = 0;
    let most = 0;
    const lookUp = async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
    };
    await Promise.all(
      Array.from({ length: 100 }, () => unknownKeys.inTurn(from('203.0.113.7'), 'same', lookUp)),
    );
    expect(most).to.equal(4);
  });

  it('of one address are not held against another, but are against its neighbours in an IPv6 network', () => {
    tryOften('203.0.113.7', 2 * unknownKeysAllowed);
    expect(tryOften('203.0.113.8', 1)).to.deep.equal([otherwise]);
    tryOften('2001:db8::1', 2 * unknownKeysAllowed);
    expect(tryOften('2001:db8::2', 1)[0]?.errorName).to.equal('rateLimited');
    expect(tryOften('2001:db8:1::2', 1)).to.deep.equal([otherwise]);
  });

  it('of very many addresses take no more room than those of ten thousand', () => {
    for (let index = 0; index < 30_000; index += 1)
      tryOften(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, 1);
    expect(unknownKeys.size).to.equal(10_000);
  });

  it('of an address over its limit are looked up four at a time, after all others', async () => {
    tryOften('203.0.113.7', unknownKeysAllowed);
    let atOnce = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const lookUp = async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise<void>((resolve) => ends.push(resolve));
      atOnce -= 1;
      return 'key';
    };
    const flood = Array.from({ length: 4 + 256 }, () =>
      unknownKeys.inTurn(from('203.0.113.7'), 'hash', lookUp),
    );
    const tooMany = await unknownKeys
      .inTurn(from('203.0.113.7'), 'hash', lookUp)
      .catch((error: unknown) => error);
    expect(tooMany).to.be.instanceOf(ApiError).and.to.include({ errorName: 'rateLimited' });
    expect(most).to.equal(4);
    expect(await unknownKeys.inTurn(from('203.0.113.8'), 'hash', async () => 'at once')).to.equal('at once');
    const all = Promise.all(flood);
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(new Set(await all)).to.deep.equal(new Set(['key']));
    expect(most).to.equal(4);
  });

  it('keep what a look-up fails with', async () => {
    tryOften('203.0.113.7', unknownKeysAllowed);
    const failure = new Error('no primary');
    const error = await unknownKeys
      .inTurn(from('203.0.113.7'), 'hash', () => Promise.reject(failure))
      .catch((thrown: unknown) => thrown);
    expect(error).to.equal(failure);
  });
});
