import { expect } from 'chai';
import { settingsToCompare } from '../../../../shared/config/agreeing-settings.js';
import { readConfig } from '../../../../shared/config/config.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { ownLevel } from '../../../../shared/process/release.js';
import { everyKey } from '../../../../shared/redis/changes.js';
import { ProcessRegister } from '../../../../shared/redis/process-register.js';
import type { ProcessKind } from '../../../../shared/redis/running-processes.js';
import { KeySettingsStore } from '../../../../shared/store/accounts/key-settings.js';
import { CallDayStore, dayOf } from '../../../../shared/store/console/call-days.js';
import { callCli, cliDocument } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

const added = 'the new pepper of the tests';

describe('leadscore key pepper', () => {
  let desk: OperatorDesk;
  let organisation: string;

  beforeEach(async () => {
    desk = await operatorDesk();
    organisation = await desk.newOrganisation();
  });
  afterEach(() => desk.leave());

  const both = () => ({ ...desk.settings, KEY_PEPPER: added, KEY_PEPPER_PREVIOUS: desk.pepper });
  const newKey = async (name: string, settings: Readonly<Record<string, string>> = desk.settings) =>
    String((await cliDocument(['key', 'create', organisation, '--name', name], settings)).key_id);
  const begin = () =>
    new KeySettingsStore(desk.stores.database).begin({
      brand: 'leadscore',
      pepper: added,
      previousPepper: desk.pepper,
    });
  const use = async (key: string, daysAgo: number) => {
    const at = new Date(Date.now() - daysAgo * dayMs);
    const day = { org: organisation, key, bucket: 'live', model: 'mdl_a', day: dayOf(at.getTime()) } as const;
    await new CallDayStore(desk.stores.database).add([{ ...day, calls: 1, records: 1, last_at: at }]);
  };
  const run = async (...words: string[]) => {
    const { exitCode, stdout, stderr } = await callCli(['key', 'pepper', ...words], desk.settings);
    return { exitCode, text: exitCode === 0 ? stdout : stderr };
  };
  const noted = async (kind: ProcessKind, pepper: string) => {
    const settings = settingsToCompare(kind, readConfig({ KEY_PEPPER: pepper }));
    const note = { kind, release: '0.1.0', level: ownLevel, host: 'web-1', pid: 210, upMs: 1, clockAheadMs: 0 };
    await new ProcessRegister(desk.redis).note('of a test', { ...note, disk: null, settings });
  };

  it('says that no pepper is being rolled out, and refuses to end one', async () => {
    await newKey('first');
    expect(await run()).to.deep.equal({ exitCode: 0, text: 'No pepper is being rolled out.\n' });
    for (const end of ['--finish', '--undo'])
      expect(await run(end)).to.deep.equal({
        exitCode: 1,
        text: 'Error: No pepper is being rolled out, so there is nothing to end.\n',
      });
    expect((await run('--finish', '--undo')).exitCode).to.equal(2);
  });

  it('counts keys by their hashes, names those without a new one, and ends once none of them is in use', async () => {
    const [used, unused, revoked] = [await newKey('CRM'), await newKey('Unused'), await newKey('Revoked')];
    await use(used, 29);
    await use(unused, 31);
    await desk.document('key', 'revoke', revoked);
    await begin();
    const made = await newKey('made', both());
    expect(await desk.document('key', 'pepper')).to.deep.include({
      ...{ is_rolling_out: true, keys_with_new: 1, keys_with_old: 2 },
    });
    const listed = (await desk.document('key', 'list', organisation)).keys as { key_id: string; needs_call?: true }[];
    const waiting = listed.filter(({ needs_call: needs }) => needs).map(({ key_id: id }) => id);
    expect(waiting).to.have.members([used, unused]);
    const shown = await run();
    expect(shown.text).to.match(new RegExp(`${used} .*CRM .*refuses it\\n.*${unused} .*Unused .*is revoked`));
    const refused = await run('--finish');
    expect(refused.exitCode).to.equal(1);
    expect(refused.text).to.include(
      `have no hash with the new pepper: ${used} (CRM) of ${organisation}. The next call`,
    );
    expect(await desk.stores.keys.find(made)).to.have.property('previous_hash');

    await desk.stores.database.collection('call_days').deleteMany({ key: used });
    await use(used, 30.5);
    const ended = await run('--finish');
    expect(ended.text).to.include('All keys have the new pepper alone. Revoked,').and.include('no new hash: 2.\n');
    await desk.announced({ kind: 'key', id: everyKey });
    expect(await desk.stores.keys.find(made)).to.not.have.any.keys('previous_hash', 'revoked_at');
    for (const id of [used, unused]) expect(await desk.stores.keys.find(id)).to.have.property('revoked_at');
    const entries = await desk.stores.database.collection('audit_log').find({ action: 'key.end_pepper' }).toArray();
    expect(entries.map(({ org, target }) => [org, target])).to.have.deep.members([
      [organisation, used],
      [organisation, unused],
      [undefined, undefined],
    ]);
    expect(await run()).to.include({ text: 'No pepper is being rolled out.\n' });
  });

  it('refuses to finish while a gateway or console has the previous pepper, and to undo while one has the new', async () => {
    await newKey('first');
    await begin();
    for (const kind of ['gateway', 'console'] as const) {
      await noted(kind, desk.pepper);
      expect((await run('--finish')).text)
        .to.include('These processes have another pepper')
        .and.include('web-1:210');
      await noted(kind, added);
      expect((await run('--undo')).text).to.include('Restart them with the previous KEY_PEPPER alone');
    }
    await noted('pool', desk.pepper);
    expect((await run('--finish')).exitCode).to.equal(0);
  });

  it('is no mistake for doctor while both peppers run', async () => {
    await newKey('first');
    await noted('gateway', desk.pepper);
    const codes = async () =>
      JSON.parse((await callCli(['doctor', '--json'], both())).stdout).mistakes.map(
        ({ code }: { code: string }) => code,
      );
    expect(await codes()).to.include('settings_differ');
    await begin();
    expect(await codes()).to.not.include('settings_differ');
  });

  it('revokes and changes a key for gateways with either pepper', async () => {
    await newKey('first');
    await begin();
    const id = await newKey('both', both());
    const key = await desk.stores.keys.find(id);
    expect(key).to.include.keys('previous_hash');
    await desk.document('key', 'set', id, '--rate', '7');
    await desk.document('key', 'revoke', id);
    for (const hash of [key?.hash, key?.previous_hash]) {
      await desk.announced({ kind: 'key', id: hash ?? '' });
      const log = desk.stores.database.collection('changes');
      expect(await log.countDocuments({ kind: 'key', id: hash })).to.equal(2);
    }
  });
});
