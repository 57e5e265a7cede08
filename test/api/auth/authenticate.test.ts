import { expect } from 'chai';
import { AuthAttempts } from '../../../api/auth/auth-attempts.js';
import { Authenticator } from '../../../api/auth/authenticate.js';
import { profiledQueries } from '../../../scripts/bench/console/profiled-queries.js';
import { hashSecret, newSecret } from '../../../shared/contract/identifiers.js';
import { ApiKeyStore } from '../../../shared/store/accounts/api-keys.js';
import { fingerprintOf } from '../../../shared/store/accounts/key-settings.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const settings = { brand: 'leadscore', pepper: 'pepper-of-the-tests' };

describe('Authenticator', () => {
  let nowMs = 0;
  const clock = { now: () => nowMs };
  let mongo: Mongo;
  let stored: ApiKeyStore;
  let keys: Authenticator;

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    stored = new ApiKeyStore(mongo.database);
    await stored.prepare();
    await stored.preparePrevious();
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    nowMs = Date.now();
    keys = gateway();
  });

  function gateway(different: { readonly pepper?: string; readonly previousPepper?: string } = {}): Authenticator {
    const unknownKeys = new AuthAttempts({ addressOf: () => '203.0.113.7' });
    return new Authenticator({ keys: stored, ...settings, ...different, unknownKeys, clock });
  }

  const keyNamed = (name: string, expiresAt?: Date) =>
    ({
      ...settings,
      organisationId: 'org_A',
      kind: 'live',
      name,
      ratePerSecond: 20,
      expiresAt,
      now: new Date(),
    }) as const;
  const create = (name: string, expiresAt?: Date) => stored.create(keyNamed(name, expiresAt));
  const on = (socket: object, secret: string, by = keys) =>
    by.authenticate({ socket, headers: { authorization: `Bearer ${secret}` } }).then(
      ({ name }) => name,
      (error: Error) => error.message,
    );

  it('finds the key of each call, also after another key on the same connection', async () => {
    const { secret: one } = await create('one');
    const { secret: other } = await create('other');
    const connection = {};
    const sent = [one, one, other, `${other.slice(0, -1)}!`, other, newSecret(settings.brand, 'live'), one];
    const found: string[] = [];
    for (const secret of sent) found.push(await on(connection, secret));
    expect(found).to.deep.equal([
      'one',
      'one',
      'other',
      'The API key is malformed: check that it was copied whole.',
      'other',
      'The API key is unknown.',
      'one',
    ]);
  });

  it('serves a key from its cache until the key is forgotten, also on a connection that sent it before', async () => {
    const { key, secret } = await create('revoked later');
    const connection = {};
    expect(await on(connection, secret)).to.equal('revoked later');
    await stored.revoke(key._id, new Date());
    expect(await on(connection, secret)).to.equal('revoked later');
    keys.forget(key.hash);
    expect(await on(connection, secret)).to.equal('The API key has been revoked.');
  });

  it('refuses a key in its cache from its expiry on, and names the date', async () => {
    const ofDay = await create('a day', new Date('2030-07-01T00:00:00Z'));
    const ofTime = await create('a time', new Date('2030-07-01T12:30:00Z'));
    const seen = async (now: string) => {
      nowMs = Date.parse(now);
      return [await on({}, ofDay.secret), await on({}, ofTime.secret)];
    };
    const later = 'An administrator can set a later date.';
    const ended = `The API key expired at the end of 2030-06-30 (UTC). ${later}`;
    expect(await seen('2030-06-30T23:59:59.999Z')).to.deep.equal(['a day', 'a time']);
    await stored.set(ofDay.key._id, { expires_at: null });
    expect(await seen('2030-07-01T00:00:00Z'), 'from the cache').to.deep.equal([ended, 'a time']);
    keys.forget(ofDay.key.hash);
    expect(await seen('2030-07-01T12:30:00Z')).to.deep.equal([
      'a day',
      `The API key expired on 2030-07-01 12:30 UTC. ${later}`,
    ]);
  });

  it('answers calls whose key is being read when all keys are forgotten', async () => {
    const { secret } = await create('being read');
    const found = [on({}, secret), on({}, secret)];
    const unknown = on({}, newSecret(settings.brand, 'live'));
    keys.invalidateAll();
    expect(await Promise.all(found)).to.deep.equal(['being read', 'being read']);
    expect(await unknown).to.equal('The API key is unknown.');
  });

  describe('with a new pepper beside the previous one', () => {
    const peppers = { pepper: 'the new pepper of the tests', previousPepper: settings.pepper } as const;
    const fingerprint = fingerprintOf(peppers.pepper);

    it('finds a key by its previous hash, gives it the new one, and gateways with either pepper find it', async () => {
      const { key, secret } = await create('renewed');
      const newer = gateway(peppers);
      expect(await on({}, secret, newer)).to.equal('renewed');
      const renewed = await eventually(async () => {
        const found = await stored.find(key._id);
        expect(found).to.include({ pepper_fingerprint: fingerprint, previous_hash: key.hash });
        return found;
      });
      expect(renewed?.hash).to.equal(hashSecret(secret, peppers.pepper));
      const finished = gateway({ pepper: peppers.pepper });
      for (const each of [gateway(), gateway(peppers), finished])
        expect(await on({}, secret, each)).to.equal('renewed');
      expect(await on({}, newSecret(settings.brand, 'live'), newer)).to.equal('The API key is unknown.');
    });

    it('leaves a key as it is that has both hashes, and one that is revoked', async () => {
      const both = await stored.create({ ...keyNamed('both'), ...peppers });
      const { key, secret } = await create('revoked');
      await stored.revoke(key._id, new Date());
      const newer = gateway(peppers);
      expect(await on({}, both.secret, newer)).to.equal('both');
      expect(await on({}, both.secret), 'by the previous pepper').to.equal('both');
      expect(await on({}, secret, newer)).to.equal('The API key has been revoked.');
      await stored.renew(key, hashSecret(secret, peppers.pepper), peppers.pepper);
      expect(await stored.find(both.key._id)).to.deep.equal(both.key);
      expect(await stored.find(key._id)).to.not.have.property('previous_hash');
    });

    it('drops a key by either hash, also while it is being read', async () => {
      const { secret } = await create('dropped');
      for (const pepper of [peppers.pepper, peppers.previousPepper]) {
        const newer = gateway(peppers);
        const hash = hashSecret(secret, pepper);
        expect(await on({}, secret, newer)).to.equal('dropped');
        const key = await eventually(async () => {
          const found = await stored.findByHash(hashSecret(secret, peppers.pepper));
          if (found === undefined) throw new Error('not renewed yet');
          return found;
        });
        await stored.set(key._id, { name: 'another name' });
        expect(await on({}, secret, newer), 'from the cache').to.equal('dropped');
        newer.forget(hash);
        const reading = on({}, secret, newer);
        newer.forget(hash);
        expect(await reading).to.equal('another name');
        await stored.set(key._id, { name: 'dropped' });
        expect(await on({}, secret, newer), 'what was being read is not cached').to.equal('dropped');
      }
    });

    it('looks a key up by one query that scans indexes alone', async () => {
      const { secret } = await create('planned');
      const profiled = await profiledQueries(mongo.database, async () => {
        expect(await on({}, secret, gateway(peppers))).to.equal('planned');
      });
      const queries = profiled.filter(({ ns, op }) => String(ns).endsWith('.api_keys') && op === 'query');
      expect(queries).to.have.length(1);
      expect(queries[0]?.planSummary).to.match(/^IXSCAN .*, IXSCAN /);
      expect(queries[0]).to.include({ docsExamined: 1, nreturned: 1 });
    });
  });
});
