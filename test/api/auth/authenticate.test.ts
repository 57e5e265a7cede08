import { expect } from 'chai';
import { AuthAttempts } from '../../../api/auth/auth-attempts.js';
import { Authenticator } from '../../../api/auth/authenticate.js';
import { newSecret } from '../../../shared/contract/identifiers.js';
import { ApiKeyStore } from '../../../shared/store/accounts/api-keys.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
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
  });
  after(() => mongo.client.close());
  beforeEach(() => {
    nowMs = Date.now();
    const unknownKeys = new AuthAttempts({ addressOf: () => '203.0.113.7' });
    keys = new Authenticator({ keys: stored, ...settings, unknownKeys, clock });
  });

  const create = (name: string, expiresAt?: Date) =>
    stored.create({
      ...settings,
      organisationId: 'org_A',
      kind: 'live',
      name,
      ratePerSecond: 20,
      expiresAt,
      now: new Date(),
    });
  const on = (socket: object, secret: string) =>
    keys.authenticate({ socket, headers: { authorization: `Bearer ${secret}` } }).then(
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
});
