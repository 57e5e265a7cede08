import { olderSchema } from './older-schema.js';
import type { OpenApiDocument } from './openapi-types.js';
import { withEachSchema } from './schema-positions.js';

const licenseUrls: Readonly<Record<string, string>> = {
  'Apache-2.0': 'https://www.apache.org/licenses/LICENSE-2.0',
};

/**
 * The same document as OpenAPI 3.0, which some tools (Salesforce among them) read only.
 * @param document an OpenAPI 3.1 document
 * @throws Error when it says something that 3.0 has no known form for
 */
export function olderDocument(document: OpenApiDocument): OpenApiDocument {
  const { info, ...rest } = document;
  const { summary: _summary, license, ...olderInfo } = info;
  const { name, identifier } = license;
  const url = licenseUrls[identifier ?? ''];
  return withEachSchema(
    { ...rest, openapi: '3.0.3', info: { ...olderInfo, license: { name, ...(url && { url }) } } },
    olderSchema,
  );
}
