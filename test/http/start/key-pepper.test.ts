import { expect } from 'chai';
import { KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import { failureOf } from '../../support/failure-of.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { itInFull } from '../../support/tier.js';
import { first, keySettingsRig, other, wayOut } from './key-settings-rig.js';

describe('KEY_PEPPER and KEY_BRAND of a starting process', () => {
  const { startedWith, refusalOf, stored, key, statusOf, expectRefused, mongo } = keySettingsRig();

  it('stop a gateway with another pepper, which names both ways out and writes nothing', async function () {
    this.timeout(3 * startTimeoutMs);
    await expectRefused('gateway', other, 'KEY_PEPPER', 'is not that');
  });

  itInFull(
    'become those of the database with KEY_PEPPER_CHANGED=yes, which makes the earlier keys void',
    async function () {
      this.timeout(4 * startTimeoutMs);
      const before = await startedWith();
      const secret = await key();
      const changed = await startedWith({ ...other, KEY_PEPPER_CHANGED: 'yes' });
      expect(changed.log()).to.include('all keys made before are void');
      expect(await statusOf(secret, changed.process)).to.equal(401);
      expect(await statusOf(secret, before.process), 'a gateway that still runs').to.equal(200);
      expect(await stored()).to.deep.equal(['KEY_PEPPER']);
      expect((await failureOf(key())).message).to.include('the gateways would reject this key');
      expect(await refusalOf({}), 'the earlier pepper').to.include(wayOut);
      const after = await startedWith(other);
      expect(await statusOf(await key(other), after.process)).to.equal(200);
      const again = await startedWith({ ...other, KEY_PEPPER_CHANGED: 'yes' });
      expect(again.log()).to.include('a wrong KEY_PEPPER would not be noticed: remove KEY_PEPPER_CHANGED');
    },
  );

  it('are stored once of many claims at once', async () => {
    const store = new KeySettingsStore(mongo().database);
    const peppers = Array.from({ length: 20 }, (_, index) => `pepper ${index} of a test`);
    const claims = await Promise.all(peppers.map((pepper) => store.claim({ ...first, pepper })));
    expect(claims.filter((different) => different.length === 0)).to.have.length(1);
    const agreed = await Promise.all(peppers.map((pepper) => store.compare({ ...first, pepper })));
    expect(agreed).to.deep.equal(claims);
  });
});
