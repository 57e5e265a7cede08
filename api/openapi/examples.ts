import { readFileSync } from 'node:fs';
import type { Schema } from '../../shared/contract/schema.js';
import { projectFile } from '../../shared/process/project-root.js';
import type { Examples, Header, MediaType, Response } from './openapi-types.js';

/** The model that the examples name. */
export const exampleModelId = 'mdl_4kTq9ZxW2mNbVc7L';

/** A section of an examples file: requests in one of three formats, replies, or replies by day. */
export type ExampleSection = 'json' | 'form' | 'csv' | 'replies' | 'days';

/**
 * Reads the examples of an operation from `examples/<operation>.json`.
 * @throws Error when the file or the section is missing
 */
export function readExamples(operation: string, section: ExampleSection): Examples {
  const examples = readExamplesFile<Readonly<Record<string, Examples>>>(operation)[section];
  if (examples === undefined) throw new Error(`the examples of ${operation} have no section "${section}"`);
  return examples;
}

/** Reads `examples/<name>.json`. */
export const readExamplesFile = <Content>(name: string): Content =>
  JSON.parse(readFileSync(projectFile(`api/openapi/examples/${name}.json`), 'utf8')) as Content;

/** A JSON body with its examples. */
export const jsonBody = (
  schema: Schema,
  operation: string,
  section: ExampleSection = 'json',
): Readonly<Record<string, MediaType>> => ({
  'application/json': { schema, examples: readExamples(operation, section) },
});

/** A successful reply with a JSON body. */
export const jsonReply = (
  reply: { readonly description: string; readonly headers: Readonly<Record<string, Header>> },
  schema: Schema,
  operation: string,
): Response => ({ ...reply, content: jsonBody(schema, operation, 'replies') });
