import { expect } from 'chai';
import { KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { freshDatabases } from '../../support/service/servers.js';

const of = (pepper: string, previousPepper?: string) => ({ brand: 'leadscore', pepper, previousPepper });
const [old, added, third] = ['the old pepper', 'the new pepper', 'a third pepper'] as const;

describe('KeySettingsStore', () => {
  let mongo: Mongo;
  let store: KeySettingsStore;

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    store = new KeySettingsStore(mongo.database);
  });
  afterEach(() => mongo.client.close());

  it('begins no roll-out by a claim, and none from a pepper that is not stored', async () => {
    expect(await store.claim(of(old))).to.deep.equal([]);
    expect(await store.claim(of(added, old))).to.deep.equal(['KEY_PEPPER']);
    await store.begin(of(added, third));
    expect(await store.compare(of(old))).to.deep.equal([]);
    expect(await store.compare(of(added, old)), 'may begin').to.deep.equal([]);
    expect(await store.wouldBegin(of(added, old))).to.equal(true);
  });

  it('stores the pepper alone in an empty database, also with a previous one', async () => {
    expect(await store.claim(of(added, old))).to.deep.equal([]);
    expect(await store.read()).to.not.have.property('previous_fingerprint');
    expect(await store.claim(of(added))).to.deep.equal([]);
  });

  it('lets each of two peppers start during a roll-out, but not the new one without the previous one', async () => {
    await store.claim(of(old));
    await store.begin(of(added, old));
    await store.begin(of(added, old));
    for (const each of [of(old), of(added, old), of(old, added)]) expect(await store.claim(each)).to.deep.equal([]);
    for (const each of [of(added), of(added, third)])
      expect(await store.claim(each)).to.deep.equal(['KEY_PEPPER_PREVIOUS']);
    expect(await store.claim(of(third, old))).to.deep.equal(['KEY_PEPPER']);
    expect(await store.claim(of(third, added)), 'a second one').to.deep.equal(['KEY_PEPPER', 'KEY_PEPPER_PREVIOUS']);
    expect(await store.wouldBegin(of(third, added))).to.equal(false);
  });

  it('gives new keys the previous pepper during a roll-out alone, and by the new one alone', async () => {
    const previousOf = async (pepper: string, previous?: string) =>
      (await store.forNewKey(of(pepper, previous))).previousPepper;
    await store.claim(of(old));
    expect(await previousOf(added, old)).to.equal(undefined);
    await store.begin(of(added, old));
    expect(await previousOf(added, old)).to.equal(old);
    expect(await previousOf(old, added)).to.equal(undefined);
    await store.end((await store.read())?.pepper_fingerprint ?? '');
    expect(await previousOf(added, old)).to.equal(undefined);
    expect(await store.claim(of(added, old))).to.deep.equal([]);
    expect(await store.claim(of(old))).to.deep.equal(['KEY_PEPPER']);
  });

  it('ends a roll-out when its settings are replaced', async () => {
    await store.claim(of(old));
    await store.begin(of(added, old));
    expect(await store.replace(of(third))).to.deep.equal(['KEY_PEPPER']);
    expect(await store.claim(of(old))).to.deep.equal(['KEY_PEPPER']);
  });
});
