import type Router from '@koa/router';
import { errorsPage } from '../docs-pages/errors-page.js';
import { referencePage } from '../docs-pages/reference-page.js';
import { openApiDocument } from '../openapi/document.js';
import { olderDocument } from '../openapi/older-document.js';
import { docsRoute } from './docs.js';
import { openApiRoute } from './openapi.js';
import { once } from './prepared-text.js';

/** What the documentation says of where it and the service are; addresses without a trailing slash. */
export interface DocumentationOptions {
  /** The service's address as it was configured, if it was. */
  readonly configuredUrl: string | undefined;
  /** The service's address. */
  readonly baseUrl: () => string;
  /** The documentation's address. */
  readonly docsUrl: () => string;
}

/** Serves the OpenAPI document in both versions, and the pages made from it. */
export function addDocumentation(router: Router, options: DocumentationOptions): void {
  const { configuredUrl: serverUrl, baseUrl, docsUrl } = options;
  const newest = once(() => openApiDocument({ serverUrl, docsUrl: docsUrl() }));
  const older = () => olderDocument(newest());
  router.get('/openapi.json', openApiRoute(newest));
  router.get('/openapi-3.0.json', openApiRoute(older));
  const reference = docsRoute(() => referencePage(newest(), baseUrl()));
  const errors = docsRoute(() => errorsPage(docsUrl()));
  router.get('/docs', reference);
  router.get('/docs/errors', errors);
}
