import { once } from 'node:events';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type HttpReply, httpCall } from '../../support/http/http-call.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';

describe('GET of the documentation endpoints', () => {
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
    it(`returns OpenAPI ${version} from ${path}, without a key and for any origin`, async () => {
      const reply = await get(path);
      expect(reply.status).to.equal(200);
      expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8');
      expect(reply.headers.get('access-control-allow-origin')).to.equal('*');
      expect(JSON.parse(reply.text)).to.include({ openapi: version });
    });
  }

  for (const path of ['/', '/docs', '/docs/errors', '/docs/quickstart']) {
    it(`returns an HTML page with a Content-Security-Policy from ${path}`, async () => {
      const { status, headers, text } = await get(path);
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).to.match(/^default-src 'none';/);
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(text)
        .to.match(/^<!doctype html>/)
        .and.to.match(/<\/html>\n$/);
    });

    if (path === '/') continue;

    it(`redirects ${path}/ to ${path}`, async () => {
      const reply = await fetch(`${service.url(0)}${path}/`);
      await reply.text(); // an unread reply would delay the gateway's shutdown
      expect(reply.redirected).to.equal(true);
      expect(reply.url).to.equal(service.url(0) + path);
      expect(reply.status).to.equal(200);
    });
  }

  for (const [path, type] of [
    ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ] as const) {
    it(`returns ${type} from ${path}`, async () => {
      const { status, headers } = await get(path);
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.equal(type);
    });
  }

  for (const path of [
    '/openapi.json',
    '/openapi-3.0.json',
    '/',
    '/docs',
    '/docs/errors',
    '/docs/quickstart',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
  ]) {
    it(`returns 304 from ${path} for a matching If-None-Match, else 200`, async () => {
      const first = await get(path);
      expect(first.headers.get('cache-control')).to.equal('public, max-age=300');
      expect(first.headers.get('x-content-type-options')).to.equal('nosniff');
      const etag = first.headers.get('etag') ?? '';
      expect(etag).to.match(/^"[\w-]{43}-gzip"$/);
      // fetch adds `Cache-Control: no-cache` to conditional requests, which would disable the 304.
      const again = await get(path, { 'if-none-match': etag, 'cache-control': 'max-age=0' });
      expect([again.status, again.text, again.headers.get('etag')]).to.deep.equal([304, '', etag]);
      const other = await get(path, { 'if-none-match': '"another"', 'cache-control': 'max-age=0' });
      expect([other.status, other.text]).to.deep.equal([200, first.text]);
    });

    it(`compresses ${path} only for a client that accepts gzip, with another ETag`, async () => {
      const [plain, gzipped] = [await read(path, 'identity'), await read(path, 'gzip')];
      expect([plain.encoding, gzipped.encoding]).to.deep.equal([undefined, 'gzip']);
      expect(gunzipSync(gzipped.body).equals(plain.body)).to.equal(true);
      expect(gzipped.body.length).to.be.below(plain.body.length);
      expect(gzipped.etag).to.equal(plain.etag?.replace(/"$/, '-gzip"'));
      expect([plain.vary, gzipped.vary]).to.deep.equal(['Accept-Encoding', 'Accept-Encoding']);
    });

    it(`returns a Content-Length and no body to HEAD ${path}`, async () => {
      const reply = await fetch(service.url(0) + path, { method: 'HEAD' });
      expect(reply.status).to.equal(200);
      expect(Number(reply.headers.get('content-length'))).to.be.above(1_000);
      expect(await reply.text()).to.equal('');
    });
  }

  /** Reads a reply without decompressing it, as fetch would. */
  async function read(path: string, acceptEncoding: string) {
    const call = request(service.url(0) + path, { headers: { 'accept-encoding': acceptEncoding } }).end();
    const [reply] = await once(call, 'response');
    const { etag, vary, 'content-encoding': encoding } = reply.headers;
    return { body: await buffer(reply), etag, vary, encoding } as {
      readonly body: Buffer;
      readonly etag?: string;
      readonly vary?: string;
      readonly encoding?: string;
    };
  }

  it('serves the section of an error code at the docs_url of the error', async () => {
    const refused = await get('/v1/usage');
    const { error } = JSON.parse(refused.text) as { readonly error: { readonly docs_url: string } };
    const { pathname, hash, origin } = new URL(error.docs_url);
    expect(origin).to.equal(service.url(0));
    const page = await get(pathname);
    expect(page.status).to.equal(200);
    expect(page.text).to.include(`id="${hash.slice(1)}"`);
  });

  it('writes BASE_URL into the document and DOCS_URL into the error examples', async () => {
    const environment = { BASE_URL: 'https://leads.example.com/api/', DOCS_URL: 'https://docs.example.com' };
    const gateway = await service.startGateway(environment);
    try {
      const [document, errors] = await Promise.all(
        ['/openapi.json', '/docs/errors'].map(
          async (path) => (await httpCall(`${gateway.url}${path}`, { method: 'GET' })).text,
        ),
      );
      expect(JSON.parse(document ?? '')).to.have.nested.property('servers[0].url', 'https://leads.example.com/api');
      expect(errors).to.include('https://docs.example.com/errors#gone');
    } finally {
      await gateway.stop();
    }
  });
});
