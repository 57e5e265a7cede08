import { validationSchema } from './validation.js';

/** V1Error: the envelope of every reply that is not a success. */
export const errorSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'docs_url'],
      properties: {
        code: {
          type: 'string',
          description: 'What your program branches on. Codes never change; new ones may be added.',
          examples: ['model_not_found'],
        },
        message: {
          type: 'string',
          description: 'What went wrong, for a person to read. The words may change.',
        },
        docs_url: { type: 'string', format: 'uri', description: 'Where this code is explained.' },
      },
      description: 'The error.',
    },
  },
  description: 'The envelope of every reply that is not a success.',
} as const;

/** V1Error with the verdict that explains `deploy_blocked`. */
export const deployBlockedSchema = {
  type: 'object',
  required: ['error', 'validation'],
  properties: { ...errorSchema.properties, validation: validationSchema },
  description: 'The envelope, with the verdict that explains the refusal.',
} as const;
