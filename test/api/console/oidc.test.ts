import { expect } from 'chai';
import { addMember, listMembers, removeMember, setMember } from '../../../shared/admin/people/member-actions.js';
import { type Caller, type ConsoleService, consoleService } from '../../support/admin/console-service.js';
import { type IdentityProvider, identityProvider } from '../../support/admin/identity-provider.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('a sign-in to the console by OIDC', () => {
  let service: ConsoleService;
  let provider: IdentityProvider;
  let acme: string;
  let beta: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    provider = await identityProvider(() => `${service.url}/admin/v1/session/oidc/callback`);
    service = await consoleService({
      CONSOLE_OIDC_ISSUER: provider.issuer,
      CONSOLE_OIDC_CLIENT_ID: provider.clientId,
      CONSOLE_OIDC_CLIENT_SECRET: provider.clientSecret,
    });
    acme = await service.newOrganisation();
    beta = await service.newOrganisation('Beta');
    provider.accounts.set('ada', { email: 'Ada@Example.com', email_verified: true, name: 'Ada Lindqvist' });
    provider.accounts.set('unverified', { email: 'una@example.com', email_verified: false });
    provider.accounts.set('stranger', { email: 'eve@example.com', email_verified: true });
  });
  after(async () => {
    await service?.leave();
    await provider?.stop();
  });

  const invite = (org: string, email: string, role = 'viewer') => service.act(addMember, { org_id: org, email, role });

  /** The cookies that a reply sets, as a request sends them. */
  const cookiesOf = (headers: Headers): string =>
    headers
      .getSetCookie()
      .map((line) => line.split(';')[0] ?? '')
      .filter((pair) => !pair.endsWith('='))
      .join('; ');

  /** Begins a sign-in: the cookies of the browser, and the address of the provider. */
  async function begin(organisationId?: string, page?: string) {
    const query = new URLSearchParams({ ...(organisationId && { org: organisationId }), ...(page && { page }) });
    const { status, headers } = await service.anyone('GET', `/admin/v1/session/oidc?${query}`);
    expect(status).to.equal(302);
    const address = headers.get('location') ?? '';
    expect(new URL(address).searchParams.get('code_challenge_method')).to.equal('S256');
    return { cookie: cookiesOf(headers), address };
  }

  /** Sends the browser back to the console. */
  async function comeBack(address: string, cookie: string) {
    const path = address.slice(service.url.length);
    const { status, headers } = await service.anyone('GET', path, { headers: { cookie } });
    expect(status).to.equal(302);
    return { location: headers.get('location'), cookie: cookiesOf(headers) };
  }

  async function signIn(sub: string, organisationId?: string) {
    const { cookie, address } = await begin(organisationId);
    return await comeBack(await provider.signIn(address, sub), cookie);
  }
  const callerWith =
    (cookie: string): Caller =>
    (method, path, { headers = {}, ...call } = {}) =>
      service.anyone(method, path, { ...call, headers: { ...headers, cookie } });

  it('is offered on the sign-in page', async () => {
    expect((await service.anyone('GET', '/admin/v1/session/ways')).body).to.deep.equal({ oidc: true });
  });

  it('lets in a member with a verified e-mail address, and writes it to the audit log', async () => {
    await invite(acme, 'ada@example.com', 'admin');
    const { location, cookie } = await signIn('ada');
    expect(location).to.equal('/');
    const { body } = await callerWith(cookie)('GET', '/admin/v1/session');
    expect(body).to.include({ person: 'Ada Lindqvist', role: 'admin', organisation_id: acme, way: 'oidc' });
    const [entry] = await service.audit(acme);
    expect(entry).to.deep.include({ action: 'session.begin' });
    expect(entry?.actor).to.include({ name: 'Ada Lindqvist', way: 'oidc' });
    const { members } = await service.act(listMembers, { org_id: acme });
    expect(members[0]).to.include({ email: 'ada@example.com', bound: true });
  });

  it('refuses an address that is not verified or not invited, and begins no session', async () => {
    await invite(acme, 'una@example.com');
    for (const [sub, problem] of [
      ['unverified', 'email_not_verified'],
      ['stranger', 'not_invited'],
    ] as const) {
      const { location, cookie } = await signIn(sub);
      expect(location).to.equal(`/login?problem=${problem}`);
      expect(cookie).to.equal('');
    }
  });

  it('stays bound to the account that signed in first, also when another account gets its address', async () => {
    provider.accounts.set('usurper', { email: 'ada@example.com', email_verified: true });
    expect((await signIn('usurper')).location).to.equal('/login?problem=not_invited');
    provider.accounts.set('ada', { email: 'ada@other.example', email_verified: true, name: 'Ada Lindqvist' });
    expect((await signIn('ada')).location).to.equal('/');
    provider.accounts.set('ada', { email: 'ada@example.com', email_verified: true, name: 'Ada Lindqvist' });
  });

  it('opens the named organisation of a person of two, else the one that was used last', async () => {
    await invite(beta, 'ada@example.com', 'owner');
    const organisationOf = async (cookie: string) =>
      (await callerWith(cookie)('GET', '/admin/v1/session')).body.organisation_id;
    expect(await organisationOf((await signIn('ada', beta)).cookie)).to.equal(beta);
    expect(await organisationOf((await signIn('ada')).cookie)).to.equal(beta);
    expect(await organisationOf((await signIn('ada', acme)).cookie)).to.equal(acme);
    expect((await signIn('ada', 'org_other')).location).to.equal('/login?problem=not_invited');
  });

  it('ends on the page where it began, and never on another host or on an address of the API', async () => {
    for (const [page, end] of [
      [`/o/${acme}/leads/00Q5?tab=1`, `/o/${acme}/leads/00Q5?tab=1`],
      ['https://evil.example/keys', '/'],
      ['//evil.example/keys', '/'],
      ['/\\evil.example', '/'],
      ['/.//evil.example', '/'],
      ['javascript:alert(1)', '/'],
      ['/admin/v1/session/oidc', '/'],
      ['/login', '/'],
      [`/${'x'.repeat(1_000)}`, '/'],
    ] as const) {
      const { cookie, address } = await begin(undefined, page);
      expect((await comeBack(await provider.signIn(address, 'ada'), cookie)).location, page).to.equal(end);
    }
  });

  it('refuses a reply with another state, of another browser, or a second time', async () => {
    const refusal = '/login?problem=sign_in_failed';
    const { cookie, address } = await begin();
    const back = await provider.signIn(address, 'ada');
    expect((await comeBack(back, '')).location, 'another browser').to.equal(refusal);
    const forged = new URL(back);
    forged.searchParams.set('state', 'forged');
    expect((await comeBack(forged.href, cookie)).location, 'another state').to.equal(refusal);
    const other = await begin();
    expect((await comeBack(back, other.cookie)).location, 'the attempt of another browser').to.equal(refusal);
    expect((await comeBack(back, cookie)).location).to.equal('/');
    expect((await comeBack(back, cookie)).location, 'a second time').to.equal(refusal);
    for (const broken of ['leadscore_sign_in=x', `leadscore_sign_in=${Buffer.from('{}').toString('base64url')}`])
      expect((await comeBack(back, broken)).location).to.equal(refusal);
  });

  it('ends the sessions of a member whose role changes, and of one who is removed', async () => {
    const { members } = await service.act(listMembers, { org_id: beta });
    const member = { org_id: beta, member_id: members[0]?.member_id ?? '' };
    const status = async (cookie: string) => (await callerWith(cookie)('GET', '/admin/v1/session')).status;
    const first = await signIn('ada', beta);
    expect(await status(first.cookie)).to.equal(200);
    await service.act(setMember, { ...member, role: 'viewer' });
    expect(await status(first.cookie)).to.equal(401);
    const second = await signIn('ada', beta);
    expect((await callerWith(second.cookie)('GET', '/admin/v1/session')).body.role).to.equal('viewer');
    await service.act(removeMember, member);
    expect(await status(second.cookie)).to.equal(401);
    expect((await signIn('ada', beta)).location).to.equal('/login?problem=not_invited');
  });

  it('says that the provider does not answer, while links still sign in', async () => {
    const other = await consoleService({
      CONSOLE_OIDC_ISSUER: 'http://127.0.0.1:9',
      CONSOLE_OIDC_CLIENT_ID: 'leadscore',
      CONSOLE_OIDC_CLIENT_SECRET: 'secret',
    });
    try {
      const { headers } = await other.anyone('GET', '/admin/v1/session/oidc');
      expect(headers.get('location')).to.equal('/login?problem=provider_unavailable');
      const person = await other.signIn('owner', await other.newOrganisation());
      expect((await person('GET', '/admin/v1/session')).status).to.equal(200);
    } finally {
      await other.leave();
    }
  }).timeout(startTimeoutMs);
});
