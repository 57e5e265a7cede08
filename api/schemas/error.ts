import { validationSchema } from './validation.js';

/** V1Error: the envelope of every unsuccessful reply. */
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
          description: 'The code to branch on. Codes never change; new ones may be added.',
          examples: ['model_not_found'],
        },
        message: {
          type: 'string',
          description: 'The problem in words, for people. The wording may change.',
        },
        docs_url: { type: 'string', format: 'uri', description: 'The documentation of the code.' },
      },
      description: 'The error.',
    },
  },
  description: 'The envelope of every unsuccessful reply.',
} as const;

/** V1Error with the verdict that explains `deploy_blocked`. */
export const deployBlockedSchema = {
  type: 'object',
  required: ['error', 'validation'],
  properties: { ...errorSchema.properties, validation: validationSchema },
  description: 'The envelope, with the verdict that explains the refusal.',
} as const;
