import { expect } from 'chai';
import { FaultProxy } from '../../../scripts/servers/fault-proxy.js';
import { installationKey } from '../../../shared/redis/keys.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { keySettingsRig, other, wayOut } from './key-settings-rig.js';

describe('KEY_PEPPER and KEY_BRAND of each process', () => {
  const { startedWith, refusalOf, stored, key, statusOf, expectRefused, redis, mongo, settings } = keySettingsRig();

  for (const [kind, different, names, are] of [
    ['gateway', { KEY_BRAND: 'acme' }, 'KEY_BRAND', 'is not that'],
    ['gateway', { ...other, KEY_BRAND: 'acme' }, 'KEY_BRAND and KEY_PEPPER', 'are not those'],
    ['console', other, 'KEY_PEPPER', 'is not that'],
    ['console', { KEY_BRAND: 'acme' }, 'KEY_BRAND', 'is not that'],
  ] as const)
    it(`stop a ${kind} with another ${names}, which names both ways out and writes nothing`, async function () {
      this.timeout(3 * startTimeoutMs);
      await expectRefused(kind, different, names, are);
    });

  it('are not stored by a gateway that another check refuses', async function () {
    this.timeout(2 * startTimeoutMs);
    await (await startedWith()).process.stop();
    await redis().set(installationKey, 'another database');
    expect(await refusalOf({ ...other, KEY_PEPPER_CHANGED: 'yes' })).to.include('counts usage for another MongoDB');
    expect(await stored()).to.deep.equal([]);
  });

  it('are stored by the first start on a database that has keys, and none stored', async function () {
    this.timeout(3 * startTimeoutMs);
    await (await startedWith()).process.stop();
    const secret = await key();
    await mongo().database.collection<{ _id: string }>('settings').deleteOne({ _id: 'keys' });
    expect(await statusOf(secret, (await startedWith()).process)).to.equal(200);
    expect(await refusalOf(other)).to.include(wayOut);
  });

  it('are stored by one of two gateways that start at once, and the other one is refused', async function () {
    this.timeout(2 * startTimeoutMs);
    const target = new URL(settings().MONGODB_URL ?? '');
    const proxy = await FaultProxy.start(() => Number(target.port));
    try {
      // Held after its check, which found nothing.
      const held = proxy.next('pepper_fingerprint', 'held');
      const late = new URL(target);
      late.port = String(proxy.port);
      late.search = '?directConnection=true';
      const refusal = refusalOf({ ...other, MONGODB_URL: late.href });
      await held;
      await startedWith();
      proxy.release();
      expect(await refusal).to.include('KEY_PEPPER is not that of the keys in this database');
    } finally {
      await proxy.stop();
    }
    expect(await stored()).to.deep.equal([]);
  });
});
