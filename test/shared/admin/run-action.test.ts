import { expect } from 'chai';
import type { Actor } from '../../../shared/admin/action.js';
import { AdminError } from '../../../shared/admin/admin-error.js';
import { eraseLead } from '../../../shared/admin/leads/erase-lead.js';
import { createOrganisation, setOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { createKey, listKeys, revokeKey } from '../../../shared/admin/organisations/key-actions.js';
import { listOrganisations, showOrganisation } from '../../../shared/admin/organisations/read-organisations.js';
import { subscribeToChanges } from '../../../shared/redis/changes.js';
import { type AdminDesk, adminDesk, personOf } from '../../support/admin/admin-desk.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';

describe('an action', () => {
  let desk: AdminDesk;
  let organisationId: string;

  before(async () => {
    desk = await adminDesk();
  });
  beforeEach(async () => {
    organisationId = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
  });
  after(() => desk.leave());

  const refusal = async (work: Promise<unknown>): Promise<Pick<AdminError, 'code' | 'message'>> => {
    const error = await failureOf(work);
    if (!(error instanceof AdminError)) throw error;
    return error;
  };
  const as = (role: 'viewer' | 'admin' | 'owner'): Partial<Actor> => personOf(organisationId, role);

  it('writes one entry for each change, with actor, target and what changed, and never a secret', async () => {
    const { key_id: keyId, secret } = await desk.act(createKey, { org_id: organisationId, name: 'CRM' }, as('admin'));
    await desk.act(revokeKey, { org_id: organisationId, key_id: keyId }, as('admin'));
    await desk.act(revokeKey, { org_id: organisationId, key_id: keyId }, as('admin'));
    await desk.act(setOrganisation, { org_id: organisationId, policy: 'block' }, as('owner'));
    const entries = await desk.audit(organisationId);
    expect(entries.map(({ action }) => action)).to.deep.equal(['org.set', 'key.revoke', 'key.create', 'org.create']);
    const [set, revoked, created] = entries;
    expect(set).to.deep.include({ before: { policy: 'warn' }, after: { policy: 'block' } });
    expect(revoked).to.deep.include({ target: keyId, actor: { name: 'Ada', way: 'link', address: '192.0.2.7' } });
    expect(created?.after).to.include({ name: 'CRM', kind: 'live' });
    const stored = JSON.stringify(entries);
    const key = await desk.database.collection('api_keys').findOne({ organisation_id: organisationId });
    expect(stored).to.not.include(secret).and.not.include(String(key?.hash));
  });

  it('changes nothing and writes no entry when it fails', async () => {
    const invalid = { org_id: organisationId, name: 'New', trial_ends_at: '2027-01-01' };
    expect((await refusal(desk.act(setOrganisation, invalid))).code).to.equal('invalid_request');
    const broken = { ...desk.context, keySettings: () => Promise.reject(new Error('no pepper')) };
    const { runAction } = await import('../../../shared/admin/run-action.js');
    await failureOf(runAction(createKey, { org_id: organisationId }, broken));
    expect((await desk.act(showOrganisation, { org_id: organisationId })).name).to.equal('Acme');
    expect((await desk.act(listKeys, { org_id: organisationId })).keys).to.deep.equal([]);
    expect(await desk.audit(organisationId)).to.have.length(1);
  });

  it('makes no key and erases no lead with another KEY_PEPPER than that of the database', async () => {
    await desk.act(createKey, { org_id: organisationId });
    const entries = await desk.audit(organisationId);
    const other = {
      ...desk.context,
      keySettings: async () => ({ brand: 'leadscore', pepper: 'another of the tests' }),
    };
    const { runAction } = await import('../../../shared/admin/run-action.js');
    const refusals = [
      await refusal(runAction(createKey, { org_id: organisationId }, other)),
      await refusal(runAction(eraseLead, { org_id: organisationId, crm_id: 'LEAD-1' }, other)),
    ];
    const problem = 'KEY_PEPPER is not that of the keys in this database, so';
    expect(refusals.map(({ code }) => code)).to.deep.equal(['other_key_settings', 'other_key_settings']);
    expect(refusals[0]?.message).to.include(`${problem} the gateways would reject this key`);
    expect(refusals[1]?.message).to.include(`${problem} a restore could not repeat this erasure`);
    expect(await desk.audit(organisationId)).to.deep.equal(entries);
  });

  it('leaves no change without its entry when the entry cannot be written', async () => {
    const collection = await desk.database
      .collections()
      .then((all) => all.find((each) => each.collectionName === 'audit_log'));
    await desk.database.command({ collMod: 'audit_log', validator: { never: { $exists: true } } });
    try {
      await failureOf(desk.act(createKey, { org_id: organisationId }));
    } finally {
      await desk.database.command({ collMod: 'audit_log', validator: {} });
    }
    expect(collection).to.not.equal(undefined);
    expect((await desk.act(listKeys, { org_id: organisationId })).keys).to.deep.equal([]);
  });

  it('is announced after it is stored', async () => {
    const subscriber = desk.redis.duplicate();
    const found: unknown[] = [];
    await subscribeToChanges(subscriber, {
      onGap: () => undefined,
      // A channel of Redis is one for all its numbered databases: other tests publish to it too.
      onChange: async ({ id }) => {
        if (id !== organisationId) return;
        found.push(await desk.database.collection<{ _id: string }>('orgs').findOne({ _id: id }));
      },
    });
    await desk.act(setOrganisation, { org_id: organisationId, name: 'Renamed' });
    await eventually(() => expect(found).to.have.length(1));
    expect(found[0]).to.include({ name: 'Renamed' });
    subscriber.disconnect();
  });

  it('is refused with `forbidden` to a lesser role', async () => {
    expect((await refusal(desk.act(createKey, { org_id: organisationId }, as('viewer')))).code).to.equal('forbidden');
    expect((await refusal(desk.act(listOrganisations, {}, as('owner')))).code).to.equal('forbidden');
    for (const setting of [{ plan: 'enterprise' }, { limit: 5 }, { limit: null }, { trial_ends_at: '2027-01-01' }]) {
      const input = { org_id: organisationId, ...setting };
      expect((await refusal(desk.act(setOrganisation, input, as('owner')))).code).to.equal('forbidden');
    }
  });

  it('on another organisation is refused in the same words as on one that does not exist', async () => {
    const other = (await desk.act(createOrganisation, { name: 'Beta', plan: 'pro' })).org_id;
    const { key_id: otherKey } = await desk.act(createKey, { org_id: other });
    for (const id of [other, 'org_none']) {
      const { code, message } = await refusal(desk.act(showOrganisation, { org_id: id }, as('owner')));
      expect({ code, message }).to.deep.equal({ code: 'not_found', message: `There is no organisation ${id}` });
    }
    for (const keyId of [otherKey, 'key_none']) {
      const input = { org_id: organisationId, key_id: keyId };
      const { code, message } = await refusal(desk.act(revokeKey, input, as('owner')));
      expect({ code, message }).to.deep.equal({ code: 'not_found', message: `There is no key ${keyId}` });
    }
    expect((await refusal(desk.act(revokeKey, { key_id: otherKey }, as('owner')))).code).to.equal('not_found');
    expect((await desk.act(listKeys, { org_id: other })).keys[0]).to.not.have.property('revoked_at');
  });

  it('names the member that is wrong, missing or unknown', async () => {
    const messages = [
      [{ name: 'A' }, 'plan is missing.'],
      [{ name: 'A', plan: 'gold' }, 'plan must be one of ["free","trial","pro","enterprise"].'],
      [{ name: 'A\n', plan: 'pro' }, 'name does not have the form of such a value.'],
      [{ name: 'A', plan: 'pro', role: 'x' }, 'role is unknown here.'],
      [
        { name: 'A', plan: 'trial', trial_ends_at: 'soon' },
        'trial_ends_at must be a date such as 2026-12-31T12:00:00Z.',
      ],
      [{ name: { $gt: '' }, plan: 'pro' }, 'name must be string.'],
    ] as const;
    for (const [input, message] of messages)
      expect((await refusal(desk.act(createOrganisation, input))).message).to.equal(message);
  });

  it('lists organisations in pages, with their usage', async () => {
    for (const name of ['B', 'C']) await desk.act(createOrganisation, { name, plan: 'pro' });
    const month = new Date().toISOString().slice(0, 7);
    await desk.redis.hset(`{${organisationId}}:usage:live:${month}`, 'used', '7');
    const all = (await desk.act(listOrganisations, {})).organisations.map(({ org_id }) => org_id).sort();
    const paged: string[] = [];
    const used = new Map<string, number | null | undefined>();
    for (let after: string | undefined; ; ) {
      const input = { limit: 2, with_usage: true, ...(after === undefined ? {} : { after }) };
      const { organisations, next } = await desk.act(listOrganisations, input);
      for (const organisation of organisations) {
        paged.push(organisation.org_id);
        used.set(organisation.org_id, organisation.used);
      }
      if (next === undefined) break;
      after = next;
    }
    expect(paged).to.deep.equal(all);
    expect(used.get(organisationId)).to.equal(7);
    expect([...used.values()].filter((each) => each === null)).to.have.length(all.length - 1);
  });
});
