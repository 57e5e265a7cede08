import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type Router from '@koa/router';
import type { Middleware } from 'koa';
import { errorsPage } from '../docs/errors-page.js';
import { homePage, quickstartPage } from '../docs/guide-pages.js';
import type { Page } from '../docs/page-frame.js';
import { assetFile, referenceAssets, referencePage } from '../docs/reference-page.js';
import { openApiDocument } from '../openapi/document.js';
import { toOpenApi30 } from '../openapi/openapi-3-0.js';
import type { OpenApiDocument } from '../openapi/openapi-types.js';

/** Addresses without a trailing slash. The functions are called at the first request, when the port is known. */
export interface DocumentationOptions {
  /** The service's address from the configuration, if set. */
  readonly configuredUrl: string | undefined;
  readonly baseUrl: () => string;
  readonly docsUrl: () => string;
  readonly keyBrand: string;
}

/** Serves the pages of the documentation with their assets, and the OpenAPI document in both versions. */
export function addDocumentation(router: Router, options: DocumentationOptions): void {
  const { configuredUrl: serverUrl, docsUrl, keyBrand } = options;
  const document = (): OpenApiDocument => openApiDocument({ serverUrl, docsUrl: docsUrl(), keyBrand });
  router.get('/openapi.json', openApiRoute(document));
  router.get(
    '/openapi-3.0.json',
    openApiRoute(() => toOpenApi30(document())),
  );
  router.get('/', pageRoute(homePage));
  router.get(
    '/docs/quickstart',
    pageRoute(() => quickstartPage(keyBrand)),
  );
  router.get(
    '/docs',
    pageRoute(() => referencePage(document())),
  );
  router.get(
    '/docs/errors',
    pageRoute(() => errorsPage(docsUrl())),
  );
  for (const asset of referenceAssets) {
    const content = async (): Promise<Content> => ({
      contentType: asset.contentType,
      body: await readFile(assetFile(asset)),
      headers: {},
    });
    router.get(`/docs/${asset.name}`, contentRoute(content));
  }
}

/** Pages on other origins may read the document: it holds no secret. */
const openApiRoute = (document: () => OpenApiDocument): Middleware =>
  contentRoute(async () => ({
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify(document()),
    headers: { 'Access-Control-Allow-Origin': '*' },
  }));

function pageRoute(page: () => Page): Middleware {
  const send = contentRoute(async () => {
    const { html, contentSecurityPolicy } = page();
    return {
      contentType: 'text/html; charset=utf-8',
      body: html,
      headers: { 'Content-Security-Policy': contentSecurityPolicy, 'Referrer-Policy': 'no-referrer' },
    };
  });
  return async (context, next) => {
    // The links on a page are relative to its address without a trailing slash.
    if (context.path.endsWith('/') && context.path !== '/') {
      context.status = 308;
      context.redirect(`../${context.path.split('/').at(-2)}`);
      return;
    }
    await send(context, next);
  };
}

interface Content {
  readonly contentType: string;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Long enough to save requests, short enough that a new release shows soon. */
const cacheControl = 'public, max-age=300';

/**
 * Serves content that never changes while the process runs, with an ETag and compressed where the client accepts gzip.
 * @param load called at the first request, and again only if it failed
 */
function contentRoute(load: () => Promise<Content>): Middleware {
  const loaded = once(async () => {
    const { body, ...rest } = await load();
    const plain = Buffer.from(body);
    const hash = createHash('sha256').update(plain).digest('base64url');
    return {
      ...rest,
      plain: { bytes: plain, etag: `"${hash}"` },
      gzipped: { bytes: await promisify(gzip)(plain), etag: `"${hash}-gzip"` },
    };
  });
  return async (context) => {
    const { contentType, headers, plain, gzipped } = await loaded();
    const isGzipped = context.acceptsEncodings('gzip', 'identity') === 'gzip';
    const { bytes, etag } = isGzipped ? gzipped : plain;
    context.set({
      ...headers,
      ETag: etag,
      Vary: 'Accept-Encoding',
      'Cache-Control': cacheControl,
      'X-Content-Type-Options': 'nosniff',
    });
    context.status = 200;
    if (context.fresh) {
      context.status = 304;
      return;
    }
    if (isGzipped) context.set('Content-Encoding', 'gzip');
    context.type = contentType;
    context.body = bytes;
  };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
