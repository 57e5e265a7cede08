import type { ApiError } from '../../shared/contract/errors.js';
import { withoutSecrets } from '../../shared/contract/identifiers.js';
import { described, describedObject, text } from '../../shared/contract/schema.js';
import { validationSchema } from './validation.js';

const error = describedObject('The error.', {
  code: described('The code to branch on. Codes never change; new ones may be added.', text, {
    examples: ['model_not_found'],
  }),
  message: described('The problem in words, for people. The wording may change.', text),
  docs_url: { type: 'string', format: 'uri', description: 'The documentation of the code.' },
});

/** V1Error: the envelope of every unsuccessful reply. */
export const errorSchema = describedObject('The envelope of every unsuccessful reply.', { error });

/** V1Error with the verdict that explains `deploy_blocked`. */
export const deployBlockedSchema = describedObject('The envelope, with the verdict that explains the refusal.', {
  error,
  validation: validationSchema,
});

/** The V1Error envelope of an error. */
export function errorEnvelope(error: ApiError, docsUrl: string): Record<string, unknown> {
  const { code } = error.entry;
  // A quote from the call may contain half a surrogate pair, which many JSON parsers refuse.
  const message = withoutSecrets(error.message).toWellFormed();
  return {
    error: { code, message, docs_url: `${docsUrl}/errors#${code}` },
    ...error.options.beside,
  };
}
