import { expect } from 'chai';
import { type HttpReply, httpCall } from '../support/http-call.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service.js';

describe('the documentation that the gateway serves', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpReply> =>
    httpCall(service.url(0) + path, { method: 'GET', headers });

  for (const [path, version] of [
    ['/openapi.json', '3.1.0'],
    ['/openapi-3.0.json', '3.0.3'],
  ] as const) {
    it(`has OpenAPI ${version} at ${path}, for anybody, pages elsewhere too`, async () => {
      const reply = await get(path);
      expect(reply.status).to.equal(200);
      expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
      expect(reply.headers.get('access-control-allow-origin')).to.equal('*');
      expect(JSON.parse(reply.text)).to.include({ openapi: version });
    });
  }

  for (const path of ['/docs', '/docs/errors']) {
    it(`has a page at ${path} that may load and run nothing`, async () => {
      const { status, headers, text } = await get(path);
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).to.match(/^default-src 'none';/);
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(text)
        .to.match(/^<!doctype html>/)
        .and.to.match(/<\/html>\n$/);
    });

    it(`sends whoever asks for ${path}/ there`, async () => {
      const reply = await fetch(`${service.url(0)}${path}/`);
      await reply.text(); // a reply that nobody reads would hold up the gateway's end
      expect(reply.redirected).to.equal(true);
      expect(reply.url).to.equal(service.url(0) + path);
      expect(reply.status).to.equal(200);
    });
  }

  for (const path of ['/openapi.json', '/openapi-3.0.json', '/docs', '/docs/errors']) {
    it(`answers 304 for ${path} to whoever has it already`, async () => {
      const first = await get(path);
      expect(first.headers.get('cache-control')).to.equal('public, max-age=300');
      const etag = first.headers.get('etag') ?? '';
      expect(etag).to.match(/^"[\w-]{43}"$/);
      // Unless told otherwise, fetch asks for no cached answer when it sends a condition.
      const again = await get(path, { 'if-none-match': etag, 'cache-control': 'max-age=0' });
      expect([again.status, again.text, again.headers.get('etag')]).to.deep.equal([304, '', etag]);
      const other = await get(path, { 'if-none-match': '"another"', 'cache-control': 'max-age=0' });
      expect([other.status, other.text]).to.deep.equal([200, first.text]);
    });

    it(`answers HEAD ${path} without a body`, async () => {
      const reply = await fetch(service.url(0) + path, { method: 'HEAD' });
      expect(reply.status).to.equal(200);
      expect(Number(reply.headers.get('content-length'))).to.be.above(10_000);
      expect(await reply.text()).to.equal('');
    });
  }

  it('explains an error under the link that the error carries', async () => {
    const refused = await get('/v1/usage');
    const { error } = JSON.parse(refused.text) as { readonly error: { readonly docs_url: string } };
    const { pathname, hash, origin } = new URL(error.docs_url);
    expect(origin).to.equal(service.url(0));
    const page = await get(pathname);
    expect(page.status).to.equal(200);
    expect(page.text).to.include(`id="${hash.slice(1)}"`);
  });

  it('names the configured addresses, where they are configured', async () => {
    const environment = { BASE_URL: 'https://leads.example.com/api/', DOCS_URL: 'https://docs.example.com' };
    const gateway = await service.startGateway(environment);
    try {
      const [document, page, errors] = await Promise.all(
        ['/openapi.json', '/docs', '/docs/errors'].map(
          async (path) => (await httpCall(`${gateway.url}${path}`, { method: 'GET' })).text,
        ),
      );
      expect(JSON.parse(document ?? '')).to.have.nested.property(
        'servers[0].url',
        'https://leads.example.com/api',
      );
      expect(page).to.include('curl &#39;https://leads.example.com/api/v1/score&#39;');
      expect(errors).to.include('https://docs.example.com/errors#gone');
    } finally {
      await gateway.stop();
    }
  });
});
