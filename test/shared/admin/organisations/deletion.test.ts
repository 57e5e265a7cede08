import { expect } from 'chai';
import { AdminError } from '../../../../shared/admin/admin-error.js';
import { createOrganisation, setOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { deleteOrganisation, undeleteOrganisation } from '../../../../shared/admin/organisations/deletion.js';
import { createKey } from '../../../../shared/admin/organisations/key-actions.js';
import { listOrganisations, showOrganisation } from '../../../../shared/admin/organisations/read-organisations.js';
import { createLink } from '../../../../shared/admin/people/access-actions.js';
import { addMember } from '../../../../shared/admin/people/member-actions.js';
import { sessionDocument, signInByLink, signInByOidc } from '../../../../shared/admin/people/sign-in.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { ownLevel } from '../../../../shared/process/release.js';
import { ProcessRegister } from '../../../../shared/redis/process-register.js';
import { processKinds } from '../../../../shared/redis/running-processes.js';
import { ChangeLog } from '../../../../shared/store/connection/change-log.js';
import { AuditLog } from '../../../../shared/store/console/audit-log.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { versionsToGrade } from '../../../../worker/grading/job/versions-to-grade.js';
import { type AdminDesk, adminDesk, personOf } from '../../../support/admin/admin-desk.js';
import { failureOf } from '../../../support/failure-of.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';

describe('the deletion of an organisation', () => {
  let desk: AdminDesk;
  let id: string;
  let nowMs: number;

  before(async () => {
    nowMs = Date.now();
    desk = await adminDesk({ clock: { now: () => nowMs } });
  });
  beforeEach(async () => {
    nowMs = Date.now();
    id = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
  });
  after(() => desk.leave());

  const order = (given: object = {}, actor = {}) =>
    desk.act(deleteOrganisation, { org_id: id, name: 'Acme', ...given }, actor);
  const takeBack = (actor = {}) => desk.act(undeleteOrganisation, { org_id: id }, actor);
  const shown = () => desk.act(showOrganisation, { org_id: id });
  const refusal = async (work: Promise<unknown>): Promise<Pick<AdminError, 'code' | 'message'>> => {
    const error = await failureOf(work);
    if (!(error instanceof AdminError)) throw error;
    return error;
  };
  const stored = async () => {
    const names = ['orgs', 'api_keys', 'console_members', 'console_sessions', 'console_links', 'org_deletions'];
    return await Promise.all(names.map((name) => desk.database.collection(name).find().sort({ _id: 1 }).toArray()));
  };
  const signIn = () => ({ ...desk.context, address: '192.0.2.9' });

  it('has a person and a day, and no other action reaches the organisation until it is taken back', async () => {
    const { deletion } = await order({ after_days: 30 });
    expect(deletion).to.deep.equal({
      requested_at: new Date(nowMs).toISOString(),
      by: 'Olga',
      due_at: new Date(nowMs + 30 * dayMs).toISOString(),
    });
    expect(await shown()).to.deep.include({ deletion });
    const { organisations } = await desk.act(listOrganisations, {});
    expect(organisations.find(({ org_id }) => org_id === id)).to.deep.include({ deletion });
    for (const act of [
      () => desk.act(createKey, { org_id: id }),
      () => desk.act(setOrganisation, { org_id: id, policy: 'block' }),
      () => desk.act(createLink, { org_id: id, name: 'Eve', role: 'viewer' }),
      () => order(),
    ])
      expect((await refusal(act())).code).to.equal('being_deleted');
    expect(await takeBack()).to.not.have.property('deletion');
    expect(await takeBack()).to.not.have.property('deletion');
    expect(await desk.act(createKey, { org_id: id })).to.have.property('secret');
    expect((await order()).deletion?.due_at).to.equal(new Date(nowMs + 7 * dayMs).toISOString());
  });

  it('leaves entries of operators, without the name', async () => {
    await order();
    nowMs += 1;
    await takeBack();
    const { entries } = await new AuditLog(desk.database).page(undefined, { most: 2 });
    expect(entries.map(({ action, target, org }) => [action, target, org])).to.deep.equal([
      ['org.undelete', id, undefined],
      ['org.delete', id, undefined],
    ]);
    expect(JSON.stringify(entries)).to.not.include('Acme');
  });

  it('withdraws each key with an entry in the change log, and gives it back', async () => {
    await desk.act(createKey, { org_id: id });
    await desk.act(createKey, { org_id: id });
    const keys = await desk.database.collection('api_keys').find({ organisation_id: id }).toArray();
    const log = new ChangeLog(desk.database);
    for (const [act, isWithdrawn] of [
      [order, true],
      [takeBack, false],
    ] as const) {
      const { last } = await log.since(undefined, 5_000);
      await act();
      const { changes } = await log.since(last, 5_000);
      expect(changes?.map(({ kind, id: changed }) => ({ kind, id: changed }))).to.have.deep.members([
        { kind: 'organisation', id },
        ...keys.map(({ hash }) => ({ kind: 'key', id: hash })),
      ]);
      const after = await desk.database.collection('api_keys').find({ organisation_id: id }).toArray();
      expect(after).to.deep.equal(keys.map((key) => (isWithdrawn ? { ...key, withdrawn: true } : key)));
    }
  });

  it('ends sessions and links, and members sign in again only after it is taken back', async () => {
    const beta = (await desk.act(createOrganisation, { name: 'Beta', plan: 'pro' })).org_id;
    for (const org_id of [id, beta])
      await desk.act(addMember, { org_id, email: `ada-${id}@example.com`, role: 'admin' });
    const identity = {
      iss: 'https://id.example.com',
      sub: id,
      verifiedEmail: `ada-${id}@example.com`.toLowerCase(),
      name: 'Ada',
    };
    const begin = (org?: string) => signInByOidc(signIn(), identity, org);
    const link = async (org_id: string) =>
      (await desk.act(createLink, { org_id, name: 'Eve', role: 'viewer' })).url.split('#')[1] ?? '';
    const [used, unused, other] = [await link(id), await link(id), await link(beta)];
    expect((await signInByLink(signIn(), used))?.session.org).to.equal(id);
    expect((await begin(id))?.session.org).to.equal(id);
    await order();
    expect(await desk.database.collection('console_sessions').countDocuments({ org: id })).to.equal(0);
    expect(await signInByLink(signIn(), unused)).to.equal(undefined);
    expect((await signInByLink(signIn(), other))?.session.org).to.equal(beta);
    expect(await begin(id)).to.equal(undefined);
    const elsewhere = await begin();
    expect(elsewhere?.session.org).to.equal(beta);
    if (elsewhere === undefined) throw new Error('no session');
    const { organisations } = await sessionDocument(desk.context, elsewhere.session);
    expect(organisations.map(({ org_id }) => org_id)).to.deep.equal([beta]);
    // A session that began meanwhile reaches nothing.
    for (const role of ['viewer', 'owner'] as const)
      expect((await refusal(desk.act(showOrganisation, { org_id: id }, personOf(id, role)))).code).to.equal(
        'not_found',
      );
    await takeBack();
    expect((await begin(id))?.session.org).to.equal(id);
  });

  it('is for operators alone', async () => {
    const owner = personOf(id, 'owner');
    expect((await refusal(order({}, owner))).code).to.equal('forbidden');
    await order();
    expect((await refusal(takeBack(owner))).code).to.equal('forbidden');
  });

  it('is refused with another name, other days or for an unknown organisation, and nothing changes', async () => {
    const before = await stored();
    const wrong: readonly (readonly [object, string])[] = [
      [{ name: 'acme' }, 'name is not the name of this organisation. Nothing was changed'],
      [{ name: 'Acme Ltd' }, 'name is not the name of this organisation. Nothing was changed'],
      [{ after_days: 0 }, 'after_days must be >= 1.'],
      [{ after_days: 91 }, 'after_days must be <= 90.'],
      [{ after_days: 1.5 }, 'after_days must be integer.'],
      [{ org_id: 'org_0000000000000000' }, 'There is no organisation org_0000000000000000'],
    ];
    for (const [given, message] of wrong) expect((await refusal(order(given))).message).to.equal(message);
    expect(await stored()).to.deep.equal(before);
    const entries = await desk.audit(id);
    expect(entries.map(({ action }) => action)).to.deep.equal(['org.create']);
  });

  it('cannot be taken back once its days are over or its removal has begun, and nothing changes', async () => {
    await order({ after_days: 1 });
    const before = await stored();
    nowMs += dayMs;
    const { code, message } = await refusal(takeBack());
    expect(code).to.equal('conflict');
    expect(message).to.match(/^The days of the organisation org_\w+ were over on \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC\./);
    expect(await stored()).to.deep.equal(before);
    nowMs -= dayMs;
    const deletions = desk.database.collection<{ _id: string }>('org_deletions');
    await deletions.updateOne({ _id: id }, { $set: { state: 'removing' } });
    const removing = await stored();
    expect((await refusal(takeBack())).code).to.equal('conflict');
    expect(await stored()).to.deep.equal(removing);
  });

  it('is refused while a process of an earlier release would ignore it', async () => {
    const register = new ProcessRegister(desk.redis);
    const state = { release: '0.1.0', host: 'web-1', upMs: 1, clockAheadMs: 0, disk: null, settings: {} };
    const refusing: string[] = [];
    try {
      for (const kind of processKinds) {
        await register.note('a process', { ...state, kind, pid: 210, level: ownLevel - 1 });
        const error = await order().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error === undefined) {
          await takeBack();
          continue;
        }
        expect(error).to.include({ code: 'older_processes' });
        expect(String(error)).to.include('would ignore a deletion: ');
        refusing.push(kind);
      }
      expect(refusing).to.have.members(['gateway', 'bulk', 'console']);
    } finally {
      await register.remove('a process');
    }
  });

  it('keeps its models from being graded until it is taken back', async () => {
    const bundle = checkBundle(sampleBundle());
    const model = await createModel(desk.database, { organisationId: id, bundle, now: new Date() });
    const graded = async () => (await versionsToGrade(desk.database)).map((one) => one.model._id);
    expect(await graded()).to.include(model._id);
    await order();
    expect(await graded()).to.not.include(model._id);
    expect(await versionsToGrade(desk.database, { organisationId: id })).to.deep.equal([]);
    await takeBack();
    expect(await graded()).to.include(model._id);
  });
});
