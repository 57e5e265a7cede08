import { expect } from 'chai';
import { hashSecret, newSecret, parseSecret } from '../../../../shared/contract/identifiers.js';
import { ProcessRegister } from '../../../../shared/redis/process-register.js';
import { KeySettingsStore } from '../../../../shared/store/accounts/key-settings.js';
import { CallDayStore, dayOf } from '../../../../shared/store/console/call-days.js';
import { callCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

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

  it('key set changes the scopes and the expiry of a key, announces it, and leaves an entry in the audit log', async () => {
    const organisation = await desk.newOrganisation();
    const created = await desk.document('key', 'create', organisation, '--name', 'CRM', '--expires', '2090-06-30');
    expect(created.expires_at).to.equal('2090-07-01T00:00:00.000Z');
    const [id, secret] = [String(created.key_id), String(created.secret)];
    const { stdout } = await desk.run('key', 'set', id, '--scopes', 'score', '--expires', '2091-01-02');
    expect(stdout).to.match(/Scopes +score\nExpires +at the end of 2091-01-02 \(UTC\)\n$/);
    await desk.announced({ kind: 'key', id: hashSecret(secret, desk.pepper) });
    const stored = await desk.stores.keys.find(id);
    expect(stored).to.deep.include({ scopes: ['score'], expires_at: new Date('2091-01-03T00:00:00Z') });
    expect(stored?.hash, 'the same secret').to.equal(hashSecret(secret, desk.pepper));
    const entry = await desk.stores.database.collection('audit_log').findOne({ action: 'key.set', target: id });
    expect(entry).to.deep.include({
      org: organisation,
      before: { expires_at: '2090-07-01T00:00:00.000Z' },
      after: { scopes: ['score'], expires_at: '2091-01-03T00:00:00.000Z' },
    });
    const renamed = await desk.run('key', 'set', id, '--name', 'CRM, EU', '--rate', '250');
    expect(renamed.stdout).to.match(/Name +CRM, EU\n.*\nRate +250 calls per second\n/);
    expect(await desk.stores.keys.find(id)).to.deep.include({
      name: 'CRM, EU',
      rate_per_second: 250,
      hash: stored?.hash,
    });
    const open = await desk.document('key', 'set', id, '--scopes', 'all', '--expires', 'never');
    expect(open).to.not.have.any.keys('scopes', 'expires_at');
    expect(await desk.stores.keys.find(id)).to.not.have.any.keys('scopes', 'expires_at');
  });

  it('key set refuses a date that has passed, a malformed one, another scope and a revoked key', async () => {
    const organisation = await desk.newOrganisation();
    const { key_id } = await desk.document('key', 'create', organisation, '--scopes', 'score');
    const id = String(key_id);
    const before = await desk.stores.keys.find(id);
    for (const [words, exitCode, message] of [
      [
        ['--expires', '2020-06-30'],
        2,
        '--expires must be in the future, and the key would have expired at the end of 2020-06-30 (UTC).',
      ],
      [['--expires', '2027-02-30'], 2, 'It must be a date such as 2027-06-30 or 2027-06-30T12:00:00Z, or never.'],
      [
        ['--scopes', 'score,admin'],
        2,
        '"admin" is no scope. Name some of score, read, erase, outcomes, jobs, with commas, or all.',
      ],
      [[], 2, 'Nothing to set. Give --name, --rate, --scopes or --expires'],
    ] as const) {
      const refused = await desk.run('key', 'set', id, ...words);
      expect(refused.exitCode, words.join(' ')).to.equal(exitCode);
      expect(refused.stderr).to.include(message);
    }
    const created = await desk.run('key', 'create', organisation, '--expires', '2020-06-30');
    expect(created.stderr).to.include('--expires must be in the future');
    expect(await desk.stores.keys.list(organisation)).to.deep.equal([before]);
    await desk.document('key', 'revoke', id);
    const { exitCode, stderr } = await desk.run('key', 'set', id, '--expires', 'never');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include(`The key ${id} is revoked, and cannot be changed. Create another key.`);
  });

  it('key find names the key of a secret, which it reads from standard input and stores nowhere', async () => {
    const organisation = await desk.newOrganisation();
    const { key_id: id, secret } = await desk.document('key', 'create', organisation, '--name', 'Lost');
    const entries = () => desk.stores.database.collection('audit_log').countDocuments();
    const before = await entries();
    const pasted = await callCli(['key', 'find'], desk.settings, `\nLEADSCORE_KEY="${secret}"\n`);
    expect(pasted.exitCode).to.equal(0);
    expect(pasted.stdout).to.match(new RegExp(`Organisation +${organisation}\n.*${id}\n.*Lost\n[^]*State +valid\n$`));
    expect(pasted.stderr).to.equal('Paste the secret, then press Enter: \n');
    expect(pasted.stdout).to.not.include(String(secret));
    await desk.document('key', 'revoke', String(id));
    const { stdout } = await callCli(['key', 'find', '--json'], desk.settings, `${secret}\n`, []);
    expect(JSON.parse(stdout)).to.deep.include({ is_whole: true }).and.nested.include({ 'key.state': 'revoked' });
    expect(await entries(), 'the revocation alone').to.equal(before + 1);
  });

  it('key find says that a secret is unknown, is not whole or is missing, and refuses another pepper', async () => {
    const { secret } = await desk.document('key', 'create', await desk.newOrganisation());
    const find = (typed: string, pepper = desk.pepper) =>
      callCli(['key', 'find'], { ...desk.settings, KEY_PEPPER: pepper }, typed);
    for (const [typed, exitCode, message] of [
      [newSecret('leadscore', 'live'), 1, 'No key has this secret.'],
      [String(secret).slice(0, -1), 1, 'This is no whole secret. It begins with leadscore_sk_.'],
      ['  \n', 2, 'Standard input has no line with a secret.'],
      ['x'.repeat(1_001), 2, 'Standard input has no line with a secret.'],
    ] as const) {
      const reply = await find(typed);
      expect(reply.exitCode, message).to.equal(exitCode);
      expect(exitCode === 1 ? reply.stdout : reply.stderr).to.include(message);
    }
    const other = await find(String(secret), 'another pepper of the tests');
    expect(other.stderr).to.include('KEY_PEPPER is not that of the keys in this database, so no key would be found.');
  });

  it('key list shows the last use and the state of each key', async () => {
    const organisation = await desk.newOrganisation();
    const ofName = async (name: string) =>
      String((await desk.document('key', 'create', organisation, '--name', name)).key_id);
    const [used, expired, ending, revoked] = [
      await ofName('Used'),
      await ofName('Old'),
      await ofName('New'),
      await ofName('Gone'),
    ];
    const last = new Date('2026-11-20T10:00:00Z');
    const day = { org: organisation, key: used, bucket: 'live', model: '', day: dayOf(last.getTime()) } as const;
    await new CallDayStore(desk.stores.database).add([{ ...day, calls: 1, records: 1, last_at: last }]);
    await desk.stores.keys.set(expired, { expires_at: new Date('2026-07-01T00:00:00Z') });
    await desk.document('key', 'set', ending, '--expires', '2090-06-30');
    await desk.stores.keys.revoke(revoked, new Date('2026-08-02T00:00:00Z'));
    const { stdout } = await desk.run('key', 'list', organisation);
    const lines = stdout.split(/\n(?=key_)/).map((line) => line.replaceAll(/\s+/g, ' ').trim());
    expect(lines.slice(1)).to.deep.equal([
      `${used} Used live everything 10 2026-11-20 valid`,
      `${expired} Old live everything 10 never expired 2026-06-30`,
      `${ending} New live everything 10 never valid until 2090-06-30`,
      `${revoked} Gone live everything 10 never revoked 2026-08-02`,
    ]);
    const { keys } = await desk.document('key', 'list', organisation);
    expect((keys as { state: string }[]).map(({ state }) => state)).to.deep.equal([
      ...['valid', 'expired', 'valid', 'revoked'],
    ]);
    // A later date makes an expired key valid again.
    await desk.document('key', 'set', expired, '--expires', '2090-06-30');
    expect((await desk.run('key', 'list', organisation)).stdout).to.not.include('expired');
  });

  it('limits no key while a gateway or a runner of an earlier release runs, which would ignore it', async () => {
    const organisation = await desk.newOrganisation();
    const id = String((await desk.document('key', 'create', organisation)).key_id);
    const register = new ProcessRegister(desk.redis);
    const older = { release: '0.1.0', host: 'web-1', upMs: 1, clockAheadMs: 0, disk: null, settings: {} };
    await register.note('gateway', { ...older, kind: 'gateway', pid: 210 });
    await register.note('pool', { ...older, kind: 'pool', pid: 211 });
    try {
      for (const words of [
        ['create', organisation, '--scopes', 'score'],
        ['create', organisation, '--expires', '2090-06-30'],
        ['set', id, '--scopes', 'score'],
        ['set', id, '--expires', '2090-06-30'],
      ]) {
        const { exitCode, stderr } = await desk.run('key', ...words);
        expect(exitCode, words.join(' ')).to.equal(1);
        expect(stderr).to.include('would ignore scopes and expiry: gateway web-1:210. Replace them');
      }
      expect(await desk.stores.keys.list(organisation)).to.have.length(1);
      expect(await desk.document('key', 'set', id, '--scopes', 'all')).to.include({ key_id: id });
    } finally {
      await register.remove('gateway');
    }
    expect(await desk.document('key', 'set', id, '--scopes', 'score')).to.deep.include({ scopes: ['score'] });
    await register.remove('pool');
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
