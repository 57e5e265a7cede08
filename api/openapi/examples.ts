import { readFileSync } from 'node:fs';
import { projectFile } from '../../shared/project-root.js';
import type { Examples } from './openapi-types.js';

/** The model that the examples name. */
export const exampleModelId = 'mdl_4kTq9ZxW2mNbVc7L';

/**
 * Reads the examples of an operation from `examples/<operation>.json`.
 * @param section `json`, `form` or `text` for requests of that format, else `replies`
 * @throws Error when the file or the section is missing
 */
export function readExamples(operation: string, section: 'json' | 'form' | 'text' | 'replies'): Examples {
  const file = projectFile(`api/openapi/examples/${operation}.json`);
  const examples = (JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, Examples>>)[section];
  if (examples === undefined) throw new Error(`${file} has no section "${section}"`);
  return examples;
}
