import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { commandNames } from '../../../../api/routes/jobs/change-job.js';
import { leadReads } from '../../../../shared/admin/leads/note-read.js';
import { setModel } from '../../../../shared/admin/models/change-models.js';
import { createOrganisation, setOrganisation } from '../../../../shared/admin/organisations/change-organisations.js';
import { createKey, revokeKey, setKey } from '../../../../shared/admin/organisations/key-actions.js';
import { listAudit } from '../../../../shared/admin/people/audit-actions.js';
import { auditSentence, auditSentences } from '../../../../shared/admin/people/audit-sentences.js';
import { addMember, removeMember, setMember } from '../../../../shared/admin/people/member-actions.js';
import { showOverview } from '../../../../shared/admin/usage/overview.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import type { AuditEntry } from '../../../../shared/store/console/audit-log.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { type AdminDesk, adminDesk } from '../../../support/admin/admin-desk.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { projectPaths } from '../../../support/sources/project-sources.js';

/** The names of actions that a source makes by a template. */
const templates: Readonly<Record<string, readonly string[]>> = {
  '`job.${name}`': commandNames.map((name) => `job.${name}`),
  '`job.${kind}`': ['job.results', 'job.errors'],
};

/** The actions that leave entries in the audit log, as the sources name them. */
function recordedActions(): string[] {
  const product = projectPaths()
    .filter((path) => /^(api|shared|scripts)\/.*\.ts$/.test(path))
    .map((path) => readFileSync(projectFile(path), 'utf8'));
  const defined = product.flatMap((text) =>
    text
      .split(/\bdefineAction\b/)
      .slice(1)
      .filter((action) => /\beffect: '(change|steps)'/.test(action.slice(0, 400)))
      .flatMap((action) => /\bname: ('[^']+'|`[^`]+`)/.exec(action)?.[1] ?? []),
  );
  const others = product.flatMap((text) =>
    [...text.matchAll(/\brecordCommand\(\s*context,\s*('[^']+')|\baction: ('[a-z]+\.[a-z_]+')/g)].map(
      ([, command, action]) => command ?? action ?? '',
    ),
  );
  const named = [...defined, ...others].flatMap((name) => templates[name] ?? name.replaceAll("'", ''));
  return [...new Set([...named, ...leadReads])].sort();
}

describe('the sentences of the audit log', () => {
  let desk: AdminDesk;
  let org: string;

  before(async () => {
    desk = await adminDesk();
    org = (await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' })).org_id;
  });
  after(() => desk.leave());

  const latest = async () => (await desk.act(listAudit, { org_id: org })).entries.map(({ sentence }) => sentence);
  const ofEntry = (action: string, members: Partial<AuditEntry> = {}, name?: string) =>
    auditSentence({ action, actor: { name: 'Ada', way: 'link' }, ...members }, name);

  it('have one for each action that leaves an entry', () => {
    const recorded = recordedActions();
    expect(recorded).to.include.members(['key.revoke', 'job.pause', 'job.errors', 'shard.apply', 'session.begin']);
    expect(recorded.filter((action) => !Object.hasOwn(auditSentences, action))).to.deep.equal([]);
  });

  it('say who switched a model off, and what else changed of it', async () => {
    const bundle = checkBundle(sampleBundle({ name: 'Expansion' }));
    const { _id: model } = await createModel(desk.database, { organisationId: org, bundle, now: new Date() });
    const set = (change: object) => desk.act(setModel, { org_id: org, model_id: model, ...change }, { name: 'Ada' });
    await set({ live_api: false });
    await set({ live_api: true, override: { reason: 'a pilot' } });
    await set({ override: null, name: 'Renewal' });
    expect((await latest()).slice(0, 3)).to.deep.equal([
      'Ada removed the override of Renewal, and renamed the model Expansion to Renewal',
      'Ada switched Live API of Renewal on, and let the version 1.0.0 of Renewal score although it has not passed',
      'Ada switched Live API of Renewal off',
    ]);
    const { audit } = await desk.act(showOverview, { org_id: org });
    expect(audit[0]?.sentence).to.equal((await latest())[0]);
  });

  it('say how keys, settings and members changed', async () => {
    const { key_id } = await desk.act(createKey, { org_id: org, name: 'HubSpot', kind: 'live' });
    await desk.act(setKey, { key_id, name: 'HubSpot, EU', rate_per_second: 20 });
    await desk.act(setKey, { key_id, scopes: ['score'], expires_at: '2099-06-30T00:00:00Z' });
    await desk.act(revokeKey, { key_id });
    await desk.act(setOrganisation, { org_id: org, plan: 'enterprise', limit: 50_000, policy: 'block' });
    const { member_id } = await desk.act(addMember, { org_id: org, email: 'eve@example.com', role: 'viewer' });
    await desk.act(setMember, { org_id: org, member_id, role: 'owner' });
    expect((await latest()).slice(0, 7)).to.deep.equal([
      'Olga changed the role of eve@example.com from viewer to owner',
      'Olga let eve@example.com sign in as viewer',
      'Olga set the plan to enterprise, the own limit to 50,000 and the deploy policy to block',
      'Olga revoked the key HubSpot, EU',
      'Olga set the scopes to score and the expiry to 2099-06-30 for the key HubSpot, EU',
      'Olga renamed the key HubSpot to HubSpot, EU, and set the rate a second to 20',
      'Olga created the live key HubSpot, EU',
    ]);
    await desk.act(removeMember, { org_id: org, member_id });
    expect((await latest())[0]).to.equal('Olga removed the member eve@example.com');
  });

  it('say what an import, a search, a job and a session did', () => {
    const version = (name: string) => ({ version: name, since: '2026-11-26' });
    expect(ofEntry('model.import', { after: { created_at: 'now', version: '1' } }, 'Expansion')).to.equal(
      'Ada imported the model Expansion',
    );
    expect(ofEntry('upload.import', { after: { candidate: version('2') } }, 'Expansion')).to.equal(
      'Ada stored the version 2 of Expansion as a candidate',
    );
    expect(ofEntry('upload.import', { before: { version: '1' }, after: { version: '2' } }, 'Expansion')).to.equal(
      'Ada imported the version 2 of Expansion, which scores instead of 1',
    );
    expect(ofEntry('model.drop_candidate', { before: { candidate: version('2') } }, 'Expansion')).to.equal(
      'Ada dropped the candidate 2 of Expansion',
    );
    expect(ofEntry('lead.search', { after: { leads_found: 3 } })).to.equal('Ada searched for leads, and found 3');
    expect(ofEntry('job.results', { target: 'job_1' }, 'leads.csv')).to.equal(
      'Ada downloaded the results of the job leads.csv',
    );
    expect(ofEntry('job.pause', { target: 'job_1' })).to.equal('Ada paused the job job_1');
    expect(ofEntry('outcomes.import', { after: { rows: 1, accepted: 1 } })).to.equal('Ada imported 1 outcome');
    expect(ofEntry('session.revoke', { before: { person: 'Eve' } })).to.equal('Ada ended a session of Eve');
  });

  it('have the name of an action that this release does not know', () => {
    expect(ofEntry('key.rotate', { target: 'key_1' }, 'HubSpot')).to.equal('Ada did key.rotate with HubSpot');
    expect(ofEntry('toString')).to.equal('Ada did toString');
  });

  it('have an end, however long a value is, and no word that JavaScript made', () => {
    const long = ofEntry('key.set', { before: { name: 'A' }, after: { name: 'W'.repeat(200) } });
    expect(long.length).to.be.lessThan(120);
    for (const action of Object.keys(auditSentences)) {
      const told = ofEntry(action, { target: 'id_1', before: {}, after: {} });
      expect(told, action)
        .to.match(/^Ada \S/)
        .and.not.match(/undefined|\[object|NaN|null/);
    }
  });
});
