import { historyLimitSchema } from '../schemas/score-history.js';
import { modelIdSchema } from '../schemas/score-request.js';
import { exampleModelId } from './examples.js';
import type { Parameter } from './openapi-types.js';

const { description: _, ...modelId } = modelIdSchema;

/** The parameters of calls, by their names in `components`. */
export const parameters = {
  requestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Your id for the call: 1-128 characters of `A-Z a-z 0-9 . _ : -`. Replies and logs carry it. An id ' +
      'of another form is replaced by a new one.',
    schema: { type: 'string' },
    example: 'import-2026-11-21.0001',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes a retry safe. For 24 hours, the same key with the same body returns the first 200 reply ' +
      'again, without counting it again, and with `Idempotent-Replayed: true`. The same key with another ' +
      'body is refused. Only calls that end in 200 are stored. Use a new random value per call, such as ' +
      'a UUID.',
    schema: { type: 'string', maxLength: 255 },
  },
  modelId: {
    name: 'model_id',
    in: 'path',
    required: true,
    description: 'The model.',
    schema: modelId,
    example: exampleModelId,
  },
  crmId: {
    name: 'crm_id',
    in: 'path',
    required: true,
    description: 'Your id of the record, percent-encoded.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: 'LEAD-00042',
  },
  onlyModelId: {
    name: 'model_id',
    in: 'query',
    description: 'Returns only the scores of this model. Absent or empty: the scores of all models.',
    schema: { type: 'string' },
    example: exampleModelId,
  },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of scores on a page.',
    schema: historyLimitSchema,
    example: 50,
  },
  cursor: {
    name: 'cursor',
    in: 'query',
    description: 'The `next_cursor` of the previous page.',
    schema: { type: 'string', minLength: 1 },
  },
  webhookModelId: {
    name: 'model_id',
    in: 'query',
    description: 'The model. A `model_id` in the body takes precedence.',
    schema: { type: 'string' },
    example: exampleModelId,
  },
  webhookExplain: {
    name: 'explain',
    in: 'query',
    description:
      'Whether to add `drivers` and top reasons to the reply: `true`, `false`, `1` or `0`. An `explain` ' +
      'in the body takes precedence.',
    schema: { type: 'string' },
    example: 'false',
  },
} as const satisfies Record<string, Parameter>;
