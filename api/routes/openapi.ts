import type { Middleware } from 'koa';
import type { OpenApiDocument } from '../openapi/openapi-types.js';
import { preparedTextRoute } from './prepared-text.js';

/** Serves an OpenAPI document as JSON; pages elsewhere may read it too, as it holds no secret. */
export const openApiRoute = (document: () => OpenApiDocument): Middleware =>
  preparedTextRoute(() => ({
    contentType: 'application/json',
    text: JSON.stringify(document()),
    headers: { 'Access-Control-Allow-Origin': '*' },
  }));
