import { expect } from 'chai';
import { ObjectId } from 'mongodb';
import { actionRoutes } from '../../../shared/admin/actions.js';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { addMember } from '../../../shared/admin/people/member-actions.js';
import { listSessions } from '../../../shared/admin/people/session-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { callIdGenerator, jobIdOf } from '../../../shared/contract/identifiers.js';
import { type Role, roles } from '../../../shared/contract/roles.js';
import { UploadStore } from '../../../shared/store/console/uploads.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { type Caller, type ConsoleService, isOfSession } from '../../support/admin/console-service.js';
import { ownJobRoutes, pieceHeaders } from '../../support/admin/job-routes.js';
import { sharedConsole } from '../../support/admin/shared-console.js';
import { sampleJob } from '../../support/jobs/sample-job.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

/** The least role for each action, as docs/console.md promises it. */
const leastRole: Readonly<Record<string, Role>> = {
  'org.list': 'operator',
  'org.create': 'operator',
  'org.show': 'viewer',
  'org.set': 'owner',
  'org.suspend': 'operator',
  'org.resume': 'operator',
  'org.delete': 'operator',
  'org.undelete': 'operator',
  'org.deletions': 'operator',
  'key.list': 'admin',
  'key.create': 'admin',
  'key.find': 'admin',
  'key.set': 'admin',
  'key.revoke': 'admin',
  'model.list': 'viewer',
  'model.show': 'viewer',
  'model.set': 'admin',
  'model.delete': 'admin',
  'model.override': 'admin',
  'model.remove_override': 'admin',
  'model.rollback': 'admin',
  'model.candidate': 'admin',
  'model.drop_candidate': 'admin',
  'model.comparison': 'viewer',
  'model.promote': 'admin',
  'model.report': 'viewer',
  'model.coverage': 'admin',
  'model.example': 'admin',
  'overview.show': 'viewer',
  'usage.show': 'viewer',
  'usage.days': 'viewer',
  'usage.refused': 'viewer',
  'crm.show': 'viewer',
  'lead.recent': 'admin',
  'lead.search': 'admin',
  'lead.show': 'admin',
  'lead.export': 'admin',
  'lead.erase': 'owner',
  'fleet.show': 'operator',
  'outcomes.show': 'admin',
  'outcomes.days': 'admin',
  'outcomes.set': 'admin',
  'outcomes.import': 'admin',
  'outcomes.preview': 'admin',
  'upload.show': 'admin',
  'upload.import': 'admin',
  'audit.list': 'viewer',
  'member.list': 'owner',
  'member.add': 'owner',
  'member.set': 'owner',
  'member.remove': 'owner',
  'session.list': 'owner',
  'session.revoke': 'owner',
  'session.list_own': 'viewer',
  'session.end_own': 'viewer',
  'session.list_operators': 'operator',
  'session.revoke_operator': 'operator',
  'org.standing': 'viewer',
  'org.attention': 'viewer',
  'link.create': 'owner',
  'audit.list_operator': 'operator',
  'token.list': 'operator',
  'token.create': 'operator',
  'token.revoke': 'operator',
  'playground.score': 'admin',
  'upload.create': 'admin',
  'usage.csv': 'viewer',
  'audit.csv': 'viewer',
  'job.list': 'admin',
  ...Object.fromEntries(ownJobRoutes.map(({ name }) => [name, 'admin'] as const)),
};

const newCallId = callIdGenerator();

interface Route {
  readonly method: string;
  readonly path: string;
  readonly name: string;
}

/** All routes that need a role: those of the table of actions, and others of their own. */
const routes: readonly Route[] = [
  ...actionRoutes.map(({ method, path, action }) => ({ method, path, name: action.name })),
  { method: 'post', path: '/orgs/:org_id/playground', name: 'playground.score' },
  { method: 'post', path: '/orgs/:org_id/uploads', name: 'upload.create' },
  { method: 'post', path: '/orgs/:org_id/outcomes', name: 'outcomes.import' },
  { method: 'post', path: '/orgs/:org_id/outcomes/preview', name: 'outcomes.preview' },
  { method: 'get', path: '/orgs/:org_id/usage?format=csv', name: 'usage.csv' },
  { method: 'get', path: '/orgs/:org_id/audit?format=csv', name: 'audit.csv' },
  ...ownJobRoutes,
];

const file = { model_id: 'mdl_none', fingerprint: '0'.repeat(64) };
const piece = new Uint8Array([1]);

/** A body that each changing action accepts. */
const bodies: Readonly<Record<string, object | string>> = {
  'org.create': { name: 'New', plan: 'pro' },
  'org.set': { policy: 'warn' },
  'org.suspend': { reason: 'not paid' },
  // Not its name: the organisation is to stay.
  'org.delete': { name: 'none' },
  'key.create': { name: 'New' },
  'key.find': { secret: 'none' },
  'key.set': { expires_at: null },
  'model.set': { live_api: true },
  'model.override': { reason: 'a pilot' },
  'model.promote': { current: '1.0.0', candidate: 'none' },
  'model.rollback': { current: '1.0.0', previous: 'none' },
  'model.candidate': { version: 'none' },
  'member.add': { email: 'new@example.com', role: 'viewer' },
  'member.set': { role: 'viewer' },
  'token.create': { name: 'New' },
  // No worker runs that could score a record.
  'playground.score': { model_id: 'mdl_none', fields: {} },
  'upload.create': new Uint8Array([1]),
  'job.create': { ...file, name: 'leads.csv', format: 'csv', bytes: 10 },
  'job.create_stored': { model_id: 'mdl_none', sent_within_days: 90, max_rows: 5 },
  'job.preview': { ...file, head: 'YSxiCg==', is_whole: true },
  'job.upload': piece,
  'job.upload_by_post': piece,
  'outcomes.set': { won_values: [], lost_values: [] },
  'outcomes.import': 'crm_id,converted\nL1,1\n',
  'outcomes.preview': 'crm_id,converted\nL1,1\n',
};

/** Bytes of a bundle, or of the file of a job. */
const bytesHeaders = (body: Uint8Array): Record<string, string> =>
  body === piece
    ? { ...pieceHeaders(0, 10), 'x-http-method-override': 'PATCH' }
    : { 'content-type': 'application/gzip' };

describe('the permissions of the console', () => {
  let service: ConsoleService;
  let own: string;
  let other: string;
  const callers = new Map<Role, Caller>();
  /** Ids of objects of each organisation, by parameter of a path. */
  const ids = new Map<string, Readonly<Record<string, string>>>();

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedConsole();
    own = await service.newOrganisation();
    other = await service.newOrganisation('Beta');
    for (const role of roles) callers.set(role, await service.signIn(role, role === 'operator' ? undefined : own));
  });

  /** Makes an object of an organisation, by parameter of a path. Returns its id. */
  const makers: Readonly<Record<string, (organisationId: string) => Promise<string>>> = {
    key_id: async (org) => (await service.act(createKey, { org_id: org })).key_id,
    member_id: async (org) => {
      const email = `${new ObjectId()}@example.com`;
      return (await service.act(addMember, { org_id: org, email, role: 'viewer' })).member_id;
    },
    model_id: async (organisationId) => {
      const bundle = checkBundle(sampleBundle());
      return (await createModel(service.database, { organisationId, bundle, now: new Date() }))._id;
    },
    upload_id: async (org) => {
      const upload = { _id: new ObjectId(), state: 'received', bytes: 1, created_at: new Date() } as const;
      await new UploadStore(service.database).create({ ...upload, org, file: upload._id });
      return String(upload._id);
    },
    job_id: async (org) => {
      const job = sampleJob({ _id: jobIdOf(newCallId(Date.now(), org)), org, state: 'awaiting_upload' });
      await createJob(service.database, job, Number.MAX_SAFE_INTEGER);
      return job._id;
    },
    session_id: async (org) => {
      await service.signIn('viewer', org);
      const [session] = (await service.act(listSessions, { org_id: org })).sessions;
      return session?.session_id ?? '';
    },
  };

  /** Makes the objects of both organisations that a path names. The test before may have removed the earlier ones. */
  async function makeObjects(path: string): Promise<void> {
    for (const organisationId of [own, other]) {
      const made: Record<string, string> = { org_id: organisationId, token_id: 'tok_none', crm_id: 'LEAD-1' };
      for (const [name, make] of Object.entries(makers))
        if (path.includes(`:${name}`)) made[name] = await make(organisationId);
      ids.set(organisationId, made);
    }
  }

  const pathOf = (path: string, organisationId: string, named = organisationId): string =>
    `/admin/v1${(path.endsWith('/leads') ? `${path}?prefix=LEAD` : path).replace(/:(\w+)/g, (_, name: string) => ids.get(name === 'org_id' ? organisationId : named)?.[name] ?? '')}`;
  const bodyOf = (name: string, organisationId: string): object | string | undefined => {
    if (name === 'link.create') return { org_id: organisationId, name: 'Eve', role: 'viewer' };
    return bodies[name];
  };
  const send = (
    caller: Caller,
    { method, path }: { method: string; path: string },
    body: object | string | undefined,
  ) =>
    caller(method.toUpperCase(), path, {
      ...(body === undefined ? {} : { body }),
      ...(body instanceof Uint8Array ? { headers: bytesHeaders(body) } : {}),
      ...(typeof body === 'string' ? { headers: { 'content-type': 'text/csv' } } : {}),
    });

  it('are stated for every published route, except those of a session itself', async () => {
    const { body } = await service.anyone('GET', '/admin/v1/openapi.json');
    const paths = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>);
    const published = paths.flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
    const withRole = [...published.filter((name) => !isOfSession.test(name)), 'usage.csv', 'audit.csv'];
    expect(withRole).to.have.members(Object.keys(leastRole));
    expect(routes.map(({ name }) => name)).to.have.members(Object.keys(leastRole));
  });

  for (const { method, path, name } of routes) {
    const isOfOrganisation = path.includes(':org_id') || name === 'link.create';

    it(`let ${name} be done from the role ${leastRole[name]} on, and not without a session`, async () => {
      await makeObjects(path);
      const target = { method, path: pathOf(path, own) };
      expect((await send(service.anyone, target, bodyOf(name, own))).status).to.equal(401);
      for (const role of roles) {
        const caller = callers.get(role);
        if (caller === undefined) throw new Error(`no ${role}`);
        const { status, body } = await send(caller, target, bodyOf(name, own));
        const isAllowed = roles.indexOf(role) >= roles.indexOf(leastRole[name] ?? 'operator');
        const expected = isAllowed ? [200, 202, 204, 404, 409, 422] : [403];
        // A second call may find its target gone: that is no refusal of the role.
        expect(expected, `${role}: ${JSON.stringify(body)}`).to.include(status);
      }
    });

    if (!isOfOrganisation) continue;
    it(`answer ${name} with 404 on another organisation, by its own id or by the id of an object of it`, async () => {
      await makeObjects(path);
      for (const role of ['viewer', 'admin', 'owner'] as const) {
        if (roles.indexOf(role) < roles.indexOf(leastRole[name] ?? 'operator')) continue;
        const caller = callers.get(role);
        if (caller === undefined) throw new Error(`no ${role}`);
        const foreign = await send(caller, { method, path: pathOf(path, other) }, bodyOf(name, other));
        expect(foreign.status, role).to.equal(404);
        if (!/:(key|model|member|upload|session|job)_id/.test(path)) continue;
        const mixed = await send(caller, { method, path: pathOf(path, own, other) }, bodyOf(name, own));
        expect(mixed.status, role).to.equal(404);
      }
    });
  }

  it('cannot be passed by an org_id in the body or the query', async () => {
    const owner = callers.get('owner');
    const inBody = await owner?.('PATCH', `/admin/v1/orgs/${own}`, { body: { org_id: other, policy: 'block' } });
    expect(inBody?.body).to.include({ org_id: own });
    const inQuery = await owner?.('GET', `/admin/v1/orgs/${own}?org_id=${other}`);
    expect(inQuery?.body).to.include({ org_id: own });
    expect((await owner?.('POST', '/admin/v1/links', { body: { name: 'Eve', role: 'operator' } }))?.status).to.equal(
      404,
    );
  });

  it('do not let an owner make an operator', async () => {
    const body = { org_id: own, name: 'Eve', role: 'operator' };
    expect((await callers.get('owner')?.('POST', '/admin/v1/links', { body }))?.status).to.equal(422);
  });
});
