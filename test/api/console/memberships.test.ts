import { expect } from 'chai';
import type { Document } from 'mongodb';
import { actionRoutes } from '../../../shared/admin/actions.js';
import { addMember, listMembers, removeMember, setMember } from '../../../shared/admin/people/member-actions.js';
import { signInByOidc } from '../../../shared/admin/people/sign-in.js';
import type { Role } from '../../../shared/contract/roles.js';
import type { Caller, ConsoleService } from '../../support/admin/console-service.js';
import { memberSession, sessionCookie } from '../../support/admin/member-session.js';
import { sharedConsole } from '../../support/admin/shared-console.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('a member of several organisations', () => {
  let service: ConsoleService;
  /** The session is of Acme. Beta is the other own organisation, and Gamma one of others. */
  let acme: string;
  let beta: string;
  let gamma: string;
  let people = 0;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedConsole();
    acme = await service.newOrganisation();
    beta = await service.newOrganisation('Beta');
    gamma = await service.newOrganisation('Gamma');
  });

  async function memberOf(...memberships: readonly (readonly [string, Role])[]): Promise<Caller & { sub: string }> {
    people += 1;
    const sub = `person-${people}`;
    const cookie = `${sessionCookie}=${await memberSession(service, new Map(memberships), sub)}`;
    const caller: Caller = (method, path, { headers = {}, ...call } = {}) =>
      service.anyone(method, `/admin/v1${path}`, { ...call, headers: { ...headers, cookie } });
    return Object.assign(caller, { sub });
  }
  const memberIn = async (organisation: string, sub: string) => {
    const { members } = await service.act(listMembers, { org_id: organisation });
    const found = members.find(({ email }) => email === `${sub}@example.com`);
    return { org_id: organisation, member_id: found?.member_id ?? '' };
  };

  it('sees both with the role in each, by name, and one of a link sees that one', async () => {
    const { body } = await (await memberOf([beta, 'viewer'], [acme, 'owner']))('GET', '/session');
    expect(body).to.deep.include({
      ...{ organisation_id: beta, organisation_name: 'Beta', role: 'viewer', has_more_organisations: false },
      organisations: [
        { org_id: acme, name: 'Acme', role: 'owner' },
        { org_id: beta, name: 'Beta', role: 'viewer' },
      ],
    });
    const linked = await (await service.signIn('admin', acme))('GET', '/admin/v1/session');
    expect(linked.body.organisations).to.deep.equal([{ org_id: acme, name: 'Acme', role: 'admin' }]);
    const operator = await (await service.signIn('operator'))('GET', '/admin/v1/session');
    expect(operator.body.organisations).to.deep.equal([]);
  });

  it('acts in each with the role there, in paths, bodies, uploads and CSV', async () => {
    const member = await memberOf([acme, 'viewer'], [beta, 'owner']);
    const key = { body: { name: 'New' } };
    expect((await member('POST', `/orgs/${acme}/keys`, key)).status).to.equal(403);
    expect((await member('POST', `/orgs/${beta}/keys`, key)).status).to.equal(200);
    const link = (org: string) => ({ body: { org_id: org, name: 'Eve', role: 'viewer' } });
    expect((await member('POST', '/links', link(acme))).status).to.equal(403);
    expect((await member('POST', '/links', link(beta))).status).to.equal(200);
    const archive = { body: new Uint8Array([1]), headers: { 'content-type': 'application/gzip' } };
    expect((await member('POST', `/orgs/${acme}/uploads`, archive)).status).to.equal(403);
    expect((await member('POST', `/orgs/${beta}/uploads`, archive)).status).to.equal(202);
    expect((await member('GET', `/orgs/${beta}/usage?format=csv`)).status).to.equal(200);
    const [entry] = (await service.audit(beta)).filter(({ action }) => action === 'key.create');
    expect(entry?.actor).to.deep.include({ name: 'Ada', way: 'oidc' });
  });

  it('is no operator, and reaches nothing of an organisation of others', async () => {
    for (const { method, path, action } of actionRoutes) {
      if (action.isOfPerson) continue;
      // A session of its own for each: one makes 20 requests a second.
      const member = await memberOf([acme, 'owner'], [beta, 'owner']);
      const at = path.replace(':org_id', gamma).replaceAll(/:\w+/g, 'none');
      const call =
        method === 'post' || method === 'patch' ? { body: { org_id: gamma, name: 'x', role: 'viewer' } } : {};
      const { status, body } = await member(method.toUpperCase(), at, call);
      const isOfOperator = action.role === 'operator';
      // An input that misses members is refused before its organisation is read.
      expect(isOfOperator ? [403] : [404, 422], `${action.name}: ${JSON.stringify(body)}`).to.include(status);
      expect(JSON.stringify(body)).to.not.include('Gamma');
    }
    const member = await memberOf([acme, 'owner'], [beta, 'owner']);
    // Each of the accounts above has sessions in the same organisations.
    const { sessions } = (await member('GET', '/sessions/own')).body as {
      sessions: readonly { is_current: boolean }[];
    };
    expect(sessions.map((session) => session.is_current)).to.deep.equal([true]);
    const identity = { iss: 'https://login.example.com', sub: member.sub, verifiedEmail: undefined, name: 'Ada' };
    await signInByOidc({ ...service.context, address: '192.0.2.8' }, identity, beta);
    const both = (await member('GET', '/sessions/own')).body.sessions as readonly { address: string }[];
    expect(both.map(({ address }) => address)).to.have.members(['192.0.2.7', '192.0.2.8']);
    expect((await member('GET', `/orgs/${gamma}/overview`)).status).to.equal(404);
    expect((await member('GET', `/orgs/${gamma}/usage?format=csv`)).status).to.equal(404);
    const archive = { body: new Uint8Array([1]), headers: { 'content-type': 'application/gzip' } };
    expect((await member('POST', `/orgs/${gamma}/uploads`, archive)).status).to.equal(404);
  });

  it('cannot open an organisation by an invitation of another account, or of another issuer', async () => {
    const member = await memberOf([acme, 'owner']);
    await service.act(addMember, { org_id: beta, email: `${member.sub}@example.com`, role: 'owner' });
    expect((await member('GET', `/orgs/${beta}/overview`)).status, 'not bound yet').to.equal(404);
    const id = await memberIn(beta, member.sub);
    const members = service.database.collection<Document & { _id: string }>('console_members');
    const bind = ([iss, sub]: readonly [iss: string, sub: string]) =>
      members.updateOne({ _id: id.member_id }, { $set: { account: { iss, sub } } });
    for (const account of [
      ['https://other.example.com', member.sub],
      ['https://login.example.com', 'somebody'],
    ] as const) {
      await bind(account);
      expect((await member('GET', `/orgs/${beta}/overview`)).status, account.join(' ')).to.equal(404);
    }
    await bind(['https://login.example.com', member.sub]);
    expect((await member('GET', `/orgs/${beta}/overview`)).status).to.equal(200);
  });

  it('loses the other organisation at once by a removal, and gets another role there at once', async () => {
    const member = await memberOf([acme, 'viewer'], [beta, 'admin']);
    const statusOf = async (organisation: string) => (await member('GET', `/orgs/${organisation}/keys`)).status;
    expect(await statusOf(beta)).to.equal(200);
    const there = await memberIn(beta, member.sub);
    await service.act(setMember, { ...there, role: 'viewer' });
    expect(await statusOf(beta)).to.equal(403);
    await service.act(removeMember, there);
    expect((await member('GET', `/orgs/${beta}/overview`)).status).to.equal(404);
    const { status, body } = await member('GET', '/session');
    expect([status, body.organisations]).to.deep.equal([200, [{ org_id: acme, name: 'Acme', role: 'viewer' }]]);
    await service.act(removeMember, await memberIn(acme, member.sub));
    expect((await member('GET', '/session')).status).to.equal(401);
  });

  it('sees 200 organisations, and that there are more', async () => {
    const member = await memberOf([acme, 'viewer']);
    const account = { iss: 'https://login.example.com', sub: member.sub };
    const ids = Array.from({ length: 200 }, (_, index) => `${member.sub}-${index}`);
    const at = { created_at: new Date() };
    const organisations = service.database.collection<Document & { _id: string }>('orgs');
    await organisations.insertMany(ids.map((_id) => ({ _id, name: _id, plan: 'pro', policy: 'warn', ...at })));
    const members = service.database.collection<Document & { _id: string }>('console_members');
    const membership = { email: `${member.sub}@example.com`, role: 'viewer', account, ...at };
    await members.insertMany(ids.map((org) => ({ _id: `mbr_${org}`, org, ...membership })));
    const { body } = await member('GET', '/session');
    expect(body.has_more_organisations).to.equal(true);
    const listed = body.organisations as { org_id: string }[];
    expect(listed).to.have.length(200);
    expect(
      listed.map(({ org_id }) => org_id),
      'the one of the sign-in',
    ).to.include(acme);
    expect((await member('GET', `/orgs/${ids.at(-1)}`)).status).to.equal(200);
  });
});
