import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { ApiKeyStore } from '../../../shared/store/accounts/api-keys.js';
import { callCli, cliDocument } from '../../scripts/cli/cli-call.js';
import { eventually } from '../../support/eventually.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { itInFull } from '../../support/tier.js';
import { first, keySettingsRig, other } from './key-settings-rig.js';

const both = { ...other, KEY_PEPPER_PREVIOUS: first.pepper } as const;
type Different = Readonly<Record<string, string>>;

describe('a new KEY_PEPPER beside the previous one', () => {
  const { startedWith, refusalOf, statusOf, mongo, settings } = keySettingsRig();

  const command = (words: readonly string[], different: Different = {}) =>
    cliDocument(words, { ...settings(), ...different });
  const refused = async (words: readonly string[], different: Different) => {
    const { exitCode, stderr } = await callCli([...words, '--json'], { ...settings(), ...different });
    expect(exitCode).to.equal(1);
    return String(JSON.parse(stderr).error.message);
  };
  const keyOf = async (organisation: string, different: Different = {}) => {
    const { key_id: id, secret } = await command(['key', 'create', organisation], different);
    return { id: String(id), secret: String(secret) };
  };
  const stored = (id: string) => new ApiKeyStore(mongo().database).find(id);
  /** The keys in the caches of gateways are dropped by the change log within five seconds. */
  const follows = (check: () => Promise<unknown>) => eventually(check, 10_000, 50);

  /** Calls gateways in turn with keys in turn, until it is ended. */
  function callsOn(gateways: ServiceProcess[], secrets: string[]) {
    let isEnded = false;
    let calls = 0;
    const failed: string[] = [];
    const loop = (async () => {
      for (; !isEnded; calls += 1) {
        const [gateway, secret] = [gateways[calls % gateways.length], secrets[calls % secrets.length]];
        if (gateway === undefined || secret === undefined) throw new Error('nothing to call');
        const status = await statusOf(secret, gateway);
        // Below the rate of reads of an organisation.
        await pause(15);
        if (status !== 200) failed.push(`${status} of call ${calls}`);
      }
    })();
    /** Waits until each gateway has had each key. */
    const further = async () => {
      const from = calls;
      await eventually(() => expect(calls - from).to.be.above(2 * gateways.length * secrets.length + 1), 60_000);
    };
    const end = async () => {
      isEnded = true;
      await loop;
      return { calls, failed };
    };
    return { further, end };
  }

  it('is rolled out over two gateways without one 401', async function () {
    this.timeout(8 * startTimeoutMs);
    const old = [(await startedWith()).process, (await startedWith()).process] as const;
    const organisation = String((await command(['org', 'create', '--name', 'Acme', '--plan', 'pro'])).org_id);
    const before = await keyOf(organisation);
    const [gateways, secrets] = [[...old] as ServiceProcess[], [before.secret]];
    const calls = callsOn(gateways, secrets);
    await calls.further();
    expect(await refused(['key', 'create', organisation], both), 'before a gateway').to.include(
      'begins to roll it out',
    );

    const replace = async (index: number, different: Different) => {
      const { process } = await startedWith(different);
      const [replaced] = gateways.splice(index, 1, process);
      await calls.further();
      await replaced?.stop();
    };
    await replace(0, both);
    await eventually(async () => expect(await stored(before.id)).to.have.property('previous_hash'));
    const duringOld = await keyOf(organisation);
    const duringNew = await keyOf(organisation, both);
    secrets.push(duringOld.secret, duringNew.secret);
    await calls.further();
    expect(await refused(['key', 'create', organisation], other)).to.include('KEY_PEPPER_PREVIOUS is not that');
    expect(await refusalOf(other), 'the new pepper alone').to.include('`npx leadscore key pepper` shows how far');
    expect(await refused(['key', 'pepper', '--finish'], both)).to.include('These processes have another pepper');
    // A restart of a gateway with the previous pepper, as the roll-out goes on.
    await replace(1, {});

    const revoked = await keyOf(organisation);
    for (const gateway of gateways) expect(await statusOf(revoked.secret, gateway)).to.equal(200);
    await eventually(async () => expect(await stored(revoked.id)).to.have.property('previous_hash'));
    await command(['key', 'revoke', revoked.id], both);
    for (const gateway of gateways)
      await follows(async () => expect(await statusOf(revoked.secret, gateway)).to.equal(401));

    await replace(1, both);
    expect(await command(['key', 'pepper'])).to.deep.include({ keys_with_new: 3, keys_with_old: 0, old_keys: [] });
    expect(await command(['key', 'pepper', '--finish'])).to.deep.equal({ kept: 'new', keys_revoked: 0 });
    for (const { id } of [before, duringOld, duringNew]) expect(await stored(id)).to.not.have.property('previous_hash');
    await calls.further();
    await replace(0, other);
    await replace(1, other);
    expect(await refusalOf({}), 'the previous pepper').to.include('KEY_PEPPER is not that of the keys');
    const after = await keyOf(organisation, other);
    expect(await stored(after.id)).to.not.have.property('previous_hash');
    secrets.push(after.secret);
    await calls.further();
    const { calls: made, failed } = await calls.end();
    expect(failed).to.deep.equal([]);
    expect(made).to.be.above(50);
  });

  itInFull('is taken back by gateways with the previous one, and --undo drops the new hashes', async function () {
    this.timeout(4 * startTimeoutMs);
    const { process: gateway } = await startedWith();
    const organisation = String((await command(['org', 'create', '--name', 'Acme', '--plan', 'pro'])).org_id);
    const key = await keyOf(organisation);
    const { process: newer } = await startedWith(both);
    expect(await statusOf(key.secret, newer)).to.equal(200);
    await eventually(async () => expect(await stored(key.id)).to.have.property('previous_hash'));
    expect(await refused(['key', 'pepper', '--undo'], {})).to.include(
      'Restart them with the previous KEY_PEPPER alone',
    );
    const made = await keyOf(organisation, both);
    await newer.stop();
    expect(await command(['key', 'pepper', '--undo'])).to.deep.equal({ kept: 'previous', keys_revoked: 0 });
    for (const { id, secret } of [key, made]) {
      expect(await stored(id)).to.not.have.any.keys('previous_hash', 'pepper_fingerprint');
      expect(await statusOf(secret, gateway)).to.equal(200);
    }
    expect(await refused(['key', 'pepper', '--undo'], {})).to.include('No pepper is being rolled out');
  });
});
