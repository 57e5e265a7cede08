import { expect } from 'chai';
import { deleteModel } from '../../../shared/admin/models/change-models.js';
import { createOrganisation, setOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { createKey, revokeKey, setKey } from '../../../shared/admin/organisations/key-actions.js';
import { listAudit } from '../../../shared/admin/people/audit-actions.js';
import { addMember, removeMember } from '../../../shared/admin/people/member-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { type AuditEntry, AuditLog, mostEntriesRead } from '../../../shared/store/console/audit-log.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { type AdminDesk, adminDesk } from '../../support/admin/admin-desk.js';
import { failureOf } from '../../support/failure-of.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

describe('the audit log of an organisation', () => {
  let desk: AdminDesk;
  let org: string;

  before(async () => {
    desk = await adminDesk();
  });
  beforeEach(async () => {
    org = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
  });
  after(() => desk.leave());

  const list = (query: object = {}) => desk.act(listAudit, { org_id: org, ...query });
  const entry = (at: Date, action: string, name: string): Omit<AuditEntry, '_id'> => ({
    ...{ org, at, action, request_id: 'r' },
    actor: { name, way: 'link' },
  });

  it('names keys, models and members as they are called now, or were when they were removed', async () => {
    const { key_id } = await desk.act(createKey, { org_id: org, name: 'HubSpot' });
    await desk.act(setKey, { key_id, name: 'HubSpot, EU' });
    await desk.act(revokeKey, { key_id });
    const bundle = checkBundle(sampleBundle({ name: 'Expansion' }));
    const model = await createModel(desk.database, { organisationId: org, bundle, now: new Date() });
    await desk.act(deleteModel, { org_id: org, model_id: model._id });
    const member = { org_id: org, email: 'ada@example.com', role: 'viewer' };
    const { member_id } = await desk.act(addMember, member);
    await desk.act(removeMember, { org_id: org, member_id });
    const { entries } = await list();
    expect(entries.map(({ action, target_name: name }) => [action, name])).to.deep.equal([
      ['member.remove', 'ada@example.com'],
      ['member.add', 'ada@example.com'],
      ['model.delete', 'Expansion'],
      ['key.revoke', 'HubSpot, EU'],
      ['key.set', 'HubSpot, EU'],
      ['key.create', 'HubSpot, EU'],
      ['org.create', 'Acme'],
    ]);
  });

  it('can be filtered by person, kind and days, and lists the persons', async () => {
    await desk.act(setOrganisation, { org_id: org, policy: 'block' }, { name: 'Ada' });
    await desk.act(createKey, { org_id: org, name: 'One' }, { name: 'Ada' });
    await desk.act(createKey, { org_id: org, name: 'Two' });
    const log = new AuditLog(desk.database);
    await log.append(entry(new Date('2026-01-31T23:59:59.999Z'), 'key.set', 'Eve'), undefined);
    await log.append(entry(new Date('2026-02-01T00:00:00Z'), 'keyring.set', 'Eve'), undefined);
    const found = async (query: object) => (await list(query)).entries.map(({ action }) => action);
    expect((await list()).actors).to.deep.equal(['Ada', 'Eve', 'Olga']);
    expect(await found({ actor: 'Ada' })).to.deep.equal(['key.create', 'org.set']);
    expect(await found({ kind: 'key' })).to.deep.equal(['key.create', 'key.create', 'key.set']);
    expect(await found({ actor: 'Ada', kind: 'key' })).to.deep.equal(['key.create']);
    expect(await found({ from: '2026-01-31', to: '2026-01-31' })).to.deep.equal(['key.set']);
    expect(await found({ to: '2026-02-01' })).to.deep.equal(['keyring.set', 'key.set']);
    expect(await found({ from: '2026-02-02', actor: 'Eve' })).to.deep.equal([]);
    expect((await failureOf(list({ from: '2026-02-30' }))).message).to.equal('from must be a day such as 2026-11-30.');
  });

  it('leaves actions out of those of a kind', async () => {
    const log = new AuditLog(desk.database);
    for (const action of ['lead.show', 'lead.erase', 'key.set'])
      await log.append(entry(new Date(), action, 'Ada'), undefined);
    const found = await log.page(org, { most: 10, kind: 'lead', without: ['lead.show'] });
    expect(found.entries.map(({ action }) => action)).to.deep.equal(['lead.erase']);
    expect((await log.page(org, { most: 10, kind: 'lead', action: 'key.set' })).entries).to.deep.equal([]);
  });

  it('goes on behind a page that found few entries, and reads a bounded number of them', async () => {
    const log = new AuditLog(desk.database);
    const at = (index: number) => new Date(Date.UTC(2026, 1, 1) + index);
    await log.append(entry(at(0), 'key.set', 'Rare'), undefined);
    const others = Array.from({ length: mostEntriesRead + 10 }, (_, index) => ({
      ...entry(at(index + 1), 'key.set', 'Often'),
      _id: `${at(index + 1)
        .getTime()
        .toString(36)
        .padStart(9, '0')}${String(index).padStart(10, '0')}`,
    }));
    await desk.database.collection<AuditEntry>('audit_log').insertMany(others);
    const first = await list({ actor: 'Rare' });
    expect(first.entries).to.deep.equal([]);
    const second = await list({ actor: 'Rare', before: first.next });
    expect(second.entries.map(({ actor }) => actor.name)).to.deep.equal(['Rare']);
    expect(second).to.not.have.any.keys('next', 'actors');
    const pages = [await list({ actor: 'Often' })];
    while (pages.at(-1)?.next !== undefined && pages.length < 4)
      pages.push(await list({ actor: 'Often', before: pages.at(-1)?.next }));
    const ids = pages.flatMap(({ entries }) => entries.map(({ entry_id: id }) => id));
    expect(ids).to.deep.equal(
      others
        .map(({ _id }) => _id)
        .reverse()
        .slice(0, 200),
    );
  });
});
