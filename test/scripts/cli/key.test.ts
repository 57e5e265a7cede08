import { expect } from 'chai';
import { hashSecret, parseSecret } from '../../../shared/api-key.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

describe('leadscore key', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  it('create shows the secret once, and stores its hash alone', async () => {
    const organisation = await desk.newOrganisation();
    const created = await desk.document(
      'key',
      'create',
      organisation,
      '--test',
      '--name',
      'HubSpot',
      '--rate',
      '25',
    );
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

  it('revoke is for ever, is announced by the hash, and again keeps the first time', async () => {
    const organisation = await desk.newOrganisation();
    const { key_id: id, secret } = await desk.document('key', 'create', organisation);
    const revoked = await desk.document('key', 'revoke', String(id));
    await desk.announced({ kind: 'key', id: hashSecret(String(secret), desk.pepper) });
    expect(await desk.document('key', 'revoke', String(id))).to.deep.equal(revoked);
    const wrong = await desk.run('key', 'revoke', String(secret));
    expect(wrong.exitCode).to.equal(2);
    expect(wrong.stderr).to.include('revoked by its id').and.not.include(String(secret));
  });
});
