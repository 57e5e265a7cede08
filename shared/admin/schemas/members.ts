import { closedObject } from '../../contract/schema.js';

/*
 * Schemas of the console's requests and replies. The browser derives its types from them. So the files in this folder
 * import only each other, the language of schemas, and lists of names.
 */

/** One line of 1 to 200 characters for people: without control characters, and not blank. */
export const name = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\p{Cc}]*[^\\s\\p{Cc}][^\\p{Cc}]*$',
} as const;
/** `YYYY-MM-DD`, UTC. */
export const day = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' } as const;
/** `YYYY-MM`, UTC. */
export const month = { type: 'string', pattern: '^\\d{4}-(0[1-9]|1[0-2])$' } as const;

/** Any text, because an unknown id is answered with `not_found`. */
const id = { type: 'string', minLength: 1, maxLength: 100 } as const;
export const organisationId = id;
export const keyId = id;
export const modelId = id;
export const version = { type: 'string', minLength: 1, maxLength: 200 } as const;
export const crmId = { type: 'string', minLength: 1, maxLength: 255, format: 'well-formed-text' } as const;
export const bucket = { type: 'string', enum: ['live', 'test'] } as const;
/** How the contributions of fields are computed. */
export const explainMethod = { type: 'string', enum: ['tree', 'linear', 'occlusion'] } as const;
/** How a reply that ends early continues: send it as `before` or `after`. */
export const cursor = { type: 'string', minLength: 1, maxLength: 300 } as const;
/** The reply of an action without a result. */
export const nothing = closedObject({});
