import { gzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { startService } from '../../../scripts/servers/service-process.js';
import { actionRoutes } from '../../../shared/admin/actions.js';
import { type Caller, type ConsoleService, isOfSession } from '../../support/admin/console-service.js';
import { ownJobRoutes } from '../../support/admin/job-routes.js';
import { sharedConsole } from '../../support/admin/shared-console.js';
import { failureOf } from '../../support/failure-of.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('the console for browsers', () => {
  let service: ConsoleService;
  let organisationId: string;
  let owner: Caller & { readonly cookie: string };

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedConsole();
    organisationId = await service.newOrganisation();
    owner = await service.signIn('owner', organisationId);
  });

  it('refuses a change from another site or another port, with the cookie of a person', async () => {
    const path = `/admin/v1/orgs/${organisationId}`;
    const { cookie } = owner;
    const { url } = service;
    const change = (headers: Readonly<Record<string, string>>) =>
      fetch(`${url}${path}`, {
        method: 'PATCH',
        headers: { cookie, 'content-type': 'application/json', ...headers },
        body: '{"name":"Renamed"}',
      });
    for (const headers of [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${url}0` },
      { 'sec-fetch-site': 'same-site', origin: url },
    ]) {
      const reply = await change(headers);
      expect([reply.status, ((await reply.json()) as { error: { code: string } }).error.code]).to.deep.equal([
        403,
        'cross_site',
      ]);
    }
    expect((await change({ origin: url })).status).to.equal(200);
    expect((await change({ 'sec-fetch-site': 'same-origin' })).status).to.equal(200);
    const withJunk = await change({ authorization: 'Basic eDp4', 'sec-fetch-site': 'cross-site' });
    expect(withJunk.status).to.equal(401);
  });

  it('refuses a sign-in that another site sends', async () => {
    const link = await service.newLink('owner', organisationId);
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await service.anyone('POST', '/admin/v1/session', { body: { link }, headers })).status).to.equal(403);
  });

  it('compresses long documents for callers that take gzip, and no short ones', async () => {
    const read = (path: string, coding: string) =>
      service.anyone('GET', path, { headers: { 'accept-encoding': coding } });
    const path = '/admin/v1/openapi.json';
    const [packed, plain] = [await read(path, 'br, gzip'), await read(path, 'identity')];
    expect([packed, plain].map(({ headers }) => headers.get('content-encoding'))).to.deep.equal(['gzip', null]);
    expect(packed.headers.get('vary')).to.include('Accept-Encoding');
    expect(packed.body).to.deep.equal(plain.body);
    expect(Number(packed.headers.get('content-length'))).to.be.below(Number(plain.headers.get('content-length')) / 3);
    const short = await read('/admin/v1/session/ways', 'gzip');
    expect([short.headers.get('content-encoding'), short.body]).to.deep.equal([null, { oidc: false }]);
  });

  it('tells browsers to ask early for the session and the scripts of the page, but not where people sign in', async () => {
    const linksOf = async (path: string) => (await service.anyone('GET', path)).headers.get('link')?.split(', ');
    const preload = '</admin/v1/session>; rel=preload; as=fetch; crossorigin';
    const [session, ...scripts] = (await linksOf('/usage')) ?? [];
    expect(session).to.equal(preload);
    expect(scripts[0]).to.match(/^<\/usage-\w+\.js>; rel=modulepreload$/);
    for (const link of scripts)
      expect((await service.anyone('GET', link.slice(1, link.indexOf('>')))).status, link).to.equal(200);
    expect(await linksOf('/o/org_other/usage')).to.deep.equal([session, ...scripts]);
    expect((await linksOf('/jobs/new'))?.[1]).to.match(/^<\/new-job-/);
    expect((await linksOf('/jobs/job_1'))?.[1]).to.match(/^<\/job-/);
    expect(await linksOf('/nowhere')).to.deep.equal([preload]);
    expect(await linksOf('/login')).to.equal(undefined);
  });

  it('sets headers on every reply that forbid scripts from elsewhere, framing and caching', async () => {
    for (const path of ['/admin/v1/session', '/admin/v1/nothing', '/', '/login', '/healthz']) {
      const { headers } = await service.anyone('GET', path);
      expect(headers.get('content-security-policy'), path)
        .to.include("default-src 'none'")
        .and.include("script-src 'self';")
        .and.include("frame-ancestors 'none'")
        .and.include("require-trusted-types-for 'script'; trusted-types 'none'");
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('access-control-allow-origin')).to.equal(null);
      expect(headers.get('cache-control'), path).to.equal('no-store');
    }
  });

  it('lets browsers keep a script, which has its hash in the name, and clears their pages at a sign-out', async () => {
    const { body } = await service.anyone('GET', '/');
    const [, script = ''] = /src="([^"]+\.js)"/.exec(String(body.text)) ?? [];
    expect((await service.anyone('GET', script)).headers.get('cache-control')).to.include('immutable');
    const viewer = await service.signIn('viewer', organisationId);
    const { status, headers } = await viewer('DELETE', '/admin/v1/session');
    expect([status, headers.get('clear-site-data')]).to.deep.equal([200, '"cache"']);
  });

  it('keeps markup in names as it is, in JSON that no browser takes for a page', async () => {
    const name = '<img src=x onerror=alert(1)> "O\'Neill" & Söhne';
    const path = `/admin/v1/orgs/${organisationId}`;
    const { headers, body } = await owner('PATCH', path, { body: { name } });
    expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(body).to.include({ name });
    expect((await owner('GET', path)).body).to.include({ name });
  });

  it('reads JSON objects of up to 256 kB and nothing else', async () => {
    const path = `/admin/v1/orgs/${organisationId}`;
    const statusOf = async (body: string | Uint8Array, type = 'application/json') =>
      (await owner('PATCH', path, { body, headers: { 'content-type': type } })).status;
    expect(await statusOf('{"name":"A"}')).to.equal(200);
    expect(await statusOf('{"name":"A"}', 'text/plain')).to.equal(422);
    expect(await statusOf('name=A', 'application/x-www-form-urlencoded')).to.equal(422);
    expect(await statusOf('{"name":')).to.equal(422);
    expect(await statusOf('["name"]')).to.equal(422);
    expect(await statusOf('{"__proto__":{"name":"A"}}')).to.equal(422);
    expect(await statusOf(`{"name":"${'A'.repeat(256 * 1024)}"}`)).to.equal(413);
    expect(await statusOf(gzipSync('{"name":"A"}'))).to.equal(422);
    const compressed = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect((await owner('PATCH', path, { body: gzipSync('{"name":"A"}'), headers: compressed })).status).to.equal(422);
  });

  it('answers unknown paths with 404 and known ones with 405, in the envelope with the request id', async () => {
    const unknown = await owner('GET', '/admin/v1/orgs/x/nothing', { headers: { 'x-request-id': 'a-request' } });
    expect(unknown.body).to.deep.equal({
      error: { code: 'not_found', message: 'There is nothing at this address.', request_id: 'a-request' },
    });
    const wrong = await owner('DELETE', `/admin/v1/orgs/${organisationId}`);
    expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'HEAD, GET, PATCH']);
  });

  it('publishes an OpenAPI document with each action, its role, and schemas that compile', async () => {
    const { body } = await service.anyone('GET', '/admin/v1/openapi.json');
    const paths = body.paths as Record<string, Record<string, Record<string, unknown>>>;
    const operations = Object.values(paths).flatMap((item) => Object.values(item));
    const names = actionRoutes.map(({ action }) => action.name);
    const described = operations.map(({ operationId }) => String(operationId));
    expect(described.filter((name) => !isOfSession.test(name))).to.have.members([
      ...names,
      'playground.score',
      'upload.create',
      'outcomes.import',
      'outcomes.preview',
      ...ownJobRoutes.map(({ name }) => name),
    ]);
    const ajv = new Ajv2020({ strict: true, strictTypes: false, unicodeRegExp: true, validateFormats: false });
    for (const { operationId, responses, description } of operations) {
      if (!String(operationId).startsWith('session.'))
        expect(description).to.match(/^Needs the role (viewer|admin|owner|operator)\.$/);
      const contents = Object.values(responses as Record<string, { content?: Record<string, { schema: object }> }>);
      const schemas = contents.flatMap(({ content = {} }) => Object.values(content).map(({ schema }) => schema));
      for (const schema of schemas) expect(() => ajv.compile(schema)).to.not.throw();
    }
  });

  it('publishes in the OpenAPI document the methods that each address takes', async () => {
    const { body } = await service.anyone('GET', '/admin/v1/openapi.json');
    for (const [path, item] of Object.entries(body.paths as Record<string, object>)) {
      if (path.startsWith('/session/oidc')) continue; // only with an identity provider
      const { status, headers } = await owner('PUT', `/admin/v1${path.replaceAll(/[{}]/g, '')}`);
      expect(status, path).to.equal(405);
      const methods = (headers.get('allow') ?? '').split(', ').filter((method) => method !== 'HEAD');
      expect(
        methods.map((method) => method.toLowerCase()),
        path,
      ).to.have.members(Object.keys(item).filter((method) => method !== 'head'));
    }
  });

  it('does not start for people elsewhere over plain HTTP', async function () {
    this.timeout(startTimeoutMs);
    const start = startService({
      kind: 'console',
      log: 'ignore',
      environment: {
        ...{ REDIS_URL: service.redisUrl, MONGODB_URL: service.mongoUrl, KEY_PEPPER: 'pepper-of-the-tests' },
        ...{ CONSOLE_URL: 'http://console.example.com', CONSOLE_PORT: '0' },
      },
    });
    expect((await failureOf(start)).message).to.include('ended before it was ready');
  });

  it('binds its cookie to HTTPS and to one host when people open it there', async function () {
    this.timeout(startTimeoutMs);
    const secure = await startService({
      kind: 'console',
      log: 'ignore',
      environment: {
        ...{ REDIS_URL: service.redisUrl, MONGODB_URL: service.mongoUrl, KEY_PEPPER: 'pepper-of-the-tests' },
        ...{ CONSOLE_URL: 'https://console.example.com', CONSOLE_PORT: '0' },
      },
    });
    try {
      const link = await service.newLink('owner', organisationId);
      const reply = await fetch(`${secure.url}/admin/v1/session`, {
        method: 'POST',
        headers: { origin: 'https://console.example.com', 'content-type': 'application/json' },
        body: JSON.stringify({ link }),
      });
      expect(reply.headers.get('set-cookie')).to.match(
        /^__Host-leadscore_console=[\w-]{43}; path=\/; expires=.*; samesite=lax; secure; httponly$/i,
      );
      expect(reply.headers.get('strict-transport-security')).to.equal('max-age=31536000');
    } finally {
      await secure.stop();
    }
  });
});
