import { expect } from 'chai';
import { AdminError } from '../../../../shared/admin/admin-error.js';
import { createOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { showOrganisation } from '../../../../shared/admin/organisations/read-organisations.js';
import { resumeOrganisation, suspendOrganisation } from '../../../../shared/admin/organisations/suspension.js';
import { ownLevel } from '../../../../shared/process/release.js';
import { ProcessRegister } from '../../../../shared/redis/process-register.js';
import { type ProcessKind, processKinds } from '../../../../shared/redis/running-processes.js';
import { type AdminDesk, adminDesk, personOf } from '../../../support/admin/admin-desk.js';
import { failureOf } from '../../../support/failure-of.js';

describe('the suspension of an organisation', () => {
  let desk: AdminDesk;
  let id: string;

  before(async () => {
    desk = await adminDesk();
  });
  beforeEach(async () => {
    id = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
  });
  after(() => desk.leave());

  const suspend = (reason: string, actor = {}) => desk.act(suspendOrganisation, { org_id: id, reason }, actor);
  const resume = (actor = {}) => desk.act(resumeOrganisation, { org_id: id }, actor);
  const shown = () => desk.act(showOrganisation, { org_id: id });
  const codeOf = async (work: Promise<unknown>): Promise<string> => {
    const error = await failureOf(work);
    return error instanceof AdminError ? error.code : String(error);
  };

  it('has a reason and a person, and its audit entries say what changed', async () => {
    const { suspended } = await suspend(' not paid ');
    expect(suspended).to.include({ by: 'Olga', reason: 'not paid' });
    const other = await suspend('still not paid', { name: 'Ole' });
    expect(other.suspended).to.deep.equal({ since: suspended?.since, by: 'Ole', reason: 'still not paid' });
    expect(await shown()).to.deep.equal(other);
    expect(await resume()).to.not.have.property('suspended');
    expect(await shown()).to.not.have.property('suspended');
    const entries = await desk.audit(id);
    expect(entries.map(({ action, reason }) => [action, reason])).to.deep.equal([
      ['org.resume', undefined],
      ['org.suspend', 'still not paid'],
      ['org.suspend', 'not paid'],
      ['org.create', undefined],
    ]);
    expect(entries[0]?.before).to.deep.equal({ suspended: other.suspended });
    expect(entries[1]).to.deep.include({ before: { suspended }, after: { suspended: other.suspended } });
  });

  it('writes no entry when nothing changes', async () => {
    await resume();
    await suspend('not paid');
    await suspend('not paid');
    expect((await desk.audit(id)).map(({ action }) => action)).to.deep.equal(['org.suspend', 'org.create']);
  });

  it('is for operators alone, and needs a reason', async () => {
    const owner = personOf(id, 'owner');
    expect(await codeOf(suspend('not paid', owner))).to.equal('forbidden');
    expect(await codeOf(suspend('  '))).to.equal('invalid_request');
    await suspend('not paid');
    expect(await codeOf(resume(owner))).to.equal('forbidden');
    expect(await shown()).to.have.property('suspended');
  });

  it('is refused while a process of an earlier release would ignore it, and can be ended meanwhile', async () => {
    const register = new ProcessRegister(desk.redis);
    const state = { release: '0.1.0', host: 'web-1', upMs: 1, clockAheadMs: 0, disk: null, settings: {} };
    const note = (kind: ProcessKind, level = 0) => register.note('a process', { ...state, kind, pid: 210, level });
    const refusing: ProcessKind[] = [];
    try {
      for (const kind of processKinds) {
        await note(kind);
        const error = await suspend('not paid').then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (error === undefined) continue;
        expect(error).to.include({ code: 'older_processes' });
        expect(String(error)).to.include('would ignore a suspension: ').and.include(' web-1:210. Replace them');
        refusing.push(kind);
      }
      // A pool scores what gateways and runners admit.
      expect(refusing).to.have.members(['gateway', 'bulk', 'console']);
      await note('gateway');
      expect(await resume()).to.not.have.property('suspended');
      await note('gateway', ownLevel);
      expect(await suspend('not paid')).to.have.property('suspended');
    } finally {
      await register.remove('a process');
    }
  });
});
