import { expect } from 'chai';
import { scopeOfRoute } from '../../../api/auth/scopes.js';
import { type Scope, scopes } from '../../../shared/contract/roles.js';
import { type HttpCall, httpCall } from '../../support/http/http-call.js';
import { OpenApiContract } from '../../support/http/openapi-contract.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

/** The needed scope of each endpoint, as docs/security.md promises it. */
const promised: Readonly<Record<Scope | 'any', readonly string[]>> = {
  score: ['POST /v1/score', 'POST /v1/webhooks/score', 'POST /score', 'POST /webhooks/score'],
  read: ['GET /v1/scores/:crm_id', 'GET /v1/models/:model_id/coverage'],
  erase: ['DELETE /v1/scores/:crm_id'],
  outcomes: ['POST /v1/outcomes', 'POST /v1/webhooks/outcome'],
  jobs: [
    ...['POST /v1/jobs', 'GET /v1/jobs', 'GET /v1/jobs/:job_id', 'DELETE /v1/jobs/:job_id'],
    ...['pause', 'resume', 'cancel', 'input'].map((rest) => `POST /v1/jobs/:job_id/${rest}`),
    ...['PUT', 'HEAD', 'PATCH'].map((method) => `${method} /v1/jobs/:job_id/input`),
    ...['GET /v1/jobs/:job_id/results', 'GET /v1/jobs/:job_id/errors'],
  ],
  any: [
    ...['GET /v1/usage', 'GET /v1/usage/daily', 'GET /v1/models', 'GET /v1/models/:model_id'],
    'OPTIONS /v1/jobs/:job_id/input',
  ],
};
const routes = Object.entries(promised).flatMap(([scope, names]) => names.map((name) => ({ name, scope })));

describe('the scopes of a key', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const call = (name: string, { secret }: UsableKey) => {
    const [method = '', path = ''] = name.split(' ');
    const url = service.url() + path.replace(':model_id', own.model._id).replace(/:\w+/, 'none');
    const headers = { 'X-HTTP-Method-Override': 'PATCH' };
    return httpCall(url, { method: method as NonNullable<HttpCall['method']>, secret, headers });
  };

  it('are known of each endpoint that takes a key', async () => {
    const { document } = await OpenApiContract.of(service.url());
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    );
    // A client that cannot send PATCH may send POST, which has no entry of its own.
    const listed = routes.map(({ name }) => name).filter((name) => name !== 'POST /v1/jobs/:job_id/input');
    expect(documented).to.have.members(listed);
    expect(scopeOfRoute).to.deep.equal(Object.fromEntries(routes.map(({ name, scope }) => [name, scope])));
  });

  it('open their endpoints, and no other', async () => {
    for (const scope of scopes) {
      const key = await own.addKey('live', { scopes: [scope] });
      for (const route of routes) {
        const reply = await call(route.name, key);
        const isOpen = route.scope === scope || route.scope === 'any';
        expect(reply.status === 403, `${route.name} with ${scope}: ${reply.status} ${reply.text}`).to.equal(!isOpen);
        expect(reply.status, route.name).to.be.below(500);
        if (isOpen || route.name.startsWith('HEAD')) continue;
        const { error } = JSON.parse(reply.text);
        expect(error.code).to.equal('insufficient_scope');
        expect(error.message).to.include(`lacks the scope ${route.scope}. It has ${scope}.`);
      }
    }
  });

  it('are asked of HEAD as of GET', async () => {
    const key = await own.addKey('live', { scopes: ['score'] });
    for (const { name, scope } of routes.filter((route) => route.name.startsWith('GET '))) {
      const { status } = await call(name.replace('GET ', 'HEAD '), key);
      expect(status === 403, `${name}: ${status}`).to.equal(scope !== 'any');
      expect((await call(name.replace('GET ', 'HEAD '), own.live)).status, name)
        .to.be.below(500)
        .and.not.equal(403);
    }
  });

  it('are all open to a key without scopes', async () => {
    for (const { name } of routes) expect((await call(name, own.live)).status, name).to.not.equal(403);
  });

  it('are checked after the rate, and before the body', async () => {
    const key = await own.addKey('live', { rate: 1, scopes: ['outcomes'] });
    const body = '{"model_id": this is no JSON';
    const score = () => httpCall(`${service.url()}/v1/score`, { body, secret: key.secret });
    expect((await score()).status).to.equal(403);
    expect((await score()).status).to.equal(429);
  });
});
