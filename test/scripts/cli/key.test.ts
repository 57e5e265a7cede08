import { expect } from 'chai';
import { hashSecret, parseSecret } from '../../../shared/contract/identifiers.js';
import { KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import { callCli } from './cli-call.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

describe('leadscore key', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  it('key create prints the secret and stores only its hash, and key list prints neither', async () => {
    const organisation = await desk.newOrganisation();
    const created = await desk.document('key', 'create', organisation, '--test', '--name', 'HubSpot', '--rate', '25');
    const secret = String(created.secret);
    expect(parseSecret(secret, 'leadscore')).to.equal('test');
    expect(created).to.include({
      kind: 'test',
      name: 'HubSpot',
      rate_per_second: 25,
      org_id: organisation,
    });

    const stored = await desk.stores.keys.findByHash(hashSecret(secret, desk.pepper));
    expect(stored?._id).to.equal(created.key_id);
    expect(JSON.stringify(stored)).to.not.include(secret);
    const listed = await desk.run('key', 'list', organisation, '--json');
    expect(listed.stdout).to.include(String(created.key_id)).and.not.include(secret);
    expect(listed.stdout).to.not.include(String(stored?.hash));
  });

  it('key create limits a key to scopes, key list shows them, and another word is refused', async () => {
    const organisation = await desk.newOrganisation();
    await desk.document('key', 'create', organisation, '--name', 'Old');
    const created = await desk.document('key', 'create', organisation, '--name', 'CRM', '--scopes', 'outcomes, score');
    expect(created.scopes).to.deep.equal(['score', 'outcomes']);
    const { stdout } = await desk.run('key', 'list', organisation);
    expect(stdout)
      .to.match(/Old\s+live\s+everything/)
      .and.match(/CRM\s+live\s+score, outcomes/);
    const { exitCode, stderr } = await desk.run('key', 'create', organisation, '--scopes', 'score,admin');
    expect(exitCode).to.equal(2);
    expect(stderr).to.include('"admin" is no scope. Name some of score, read, erase, outcomes, jobs');
  });

  it('key create fails without KEY_PEPPER, also when MongoDB is on this machine; key list does not need it', async () => {
    const organisation = await desk.newOrganisation();
    const { KEY_PEPPER, ...without } = desk.settings;
    expect((await callCli(['key', 'list', organisation], without)).exitCode).to.equal(0);
    const { exitCode, stderr } = await callCli(['key', 'create', organisation], without);
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/^Error: KEY_PEPPER must be set/);
    expect(await desk.stores.keys.list(organisation)).to.deep.equal([]);
  });

  it('key create fails while KEY_BRAND or KEY_PEPPER differs from that of the database', async () => {
    const organisation = await desk.newOrganisation();
    const inUse = { brand: 'leadscore', pepper: desk.pepper };
    const gateways = new KeySettingsStore(desk.stores.database);
    const other = { ...desk.settings, KEY_PEPPER: 'another pepper of the tests' };
    const create = (settings: Readonly<Record<string, string>>) =>
      callCli(['key', 'create', organisation, '--json'], settings);
    for (const isFirst of [true, false]) {
      // The first round runs before any gateway has stored settings: the first command stores its own.
      if (!isFirst) expect(await gateways.claim(inUse)).to.deep.equal([]);
      expect((await create(desk.settings)).exitCode).to.equal(0);
      for (const [settings, names, difference] of [
        [other, 'KEY_PEPPER', 'is not that'],
        [{ ...desk.settings, KEY_BRAND: 'acme' }, 'KEY_BRAND', 'is not that'],
        [{ ...other, KEY_BRAND: 'acme', KEY_PEPPER_CHANGED: 'yes' }, 'KEY_BRAND and KEY_PEPPER', 'are not those'],
      ] as const) {
        const { exitCode, stdout, stderr } = await create(settings);
        expect(exitCode, names).to.equal(1);
        expect(stdout).to.equal('');
        const { error } = JSON.parse(stderr);
        expect(error.code).to.equal('other_key_settings');
        expect(error.message).to.match(new RegExp(`^${names} ${difference} of the keys in this database, so`));
        expect(error.message).to.include(`Set the right ${names}. `).and.include('KEY_PEPPER_CHANGED=yes');
      }
    }
    expect(await desk.stores.keys.list(organisation)).to.have.length(2);

    expect(await gateways.replace({ ...inUse, pepper: other.KEY_PEPPER })).to.deep.equal(['KEY_PEPPER']);
    expect((await create(other)).exitCode).to.equal(0);
    expect((await create(desk.settings)).exitCode).to.equal(1);
    expect(await gateways.replace(inUse)).to.deep.equal(['KEY_PEPPER']);
    const stored = await desk.stores.database.collection('settings').find().toArray();
    expect(JSON.stringify(stored)).to.include('"brand":"leadscore"').and.not.include(desk.pepper);
  });

  it('key revoke publishes the hash, and a second revocation keeps the first time', async () => {
    const organisation = await desk.newOrganisation();
    const { key_id: id, secret } = await desk.document('key', 'create', organisation);
    const revoked = await desk.document('key', 'revoke', String(id));
    await desk.announced({ kind: 'key', id: hashSecret(String(secret), desk.pepper) });
    expect(await desk.document('key', 'revoke', String(id))).to.deep.equal(revoked);
    const wrong = await desk.run('key', 'revoke', String(secret));
    expect(wrong.exitCode).to.equal(2);
    expect(wrong.stderr).to.include('Give the key id').and.not.include(String(secret));
  });
});
