import { historyLimitSchema } from '../schemas/score-history.js';
import { modelIdSchema } from '../schemas/score-request.js';
import type { Parameter } from './openapi-types.js';

const { description: _, ...modelId } = modelIdSchema;

/** The parameters of calls, by their names in `components`. */
export const parameters = {
  requestId: {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'Your name for the call: 1-128 characters of `A-Z a-z 0-9 . _ : -`. It is echoed, names the call in logs, and does ' +
      'nothing else; one of another form is replaced.',
    schema: { type: 'string' },
    example: 'import-2026-11-21.0001',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes it safe to send a call again: for 24 hours the same key with the same body gets the first 200 again, not ' +
      'counted again, with `Idempotent-Replayed: true`. With another body it is refused. A call that did not end in 200 ' +
      'leaves nothing behind.',
    schema: { type: 'string', maxLength: 255 },
    example: '5f6c1b7e-8d39-4c8e-9a53-0a4a3f1d2c77',
  },
  modelId: {
    name: 'model_id',
    in: 'path',
    required: true,
    description: 'The model.',
    schema: modelId,
    example: 'mdl_4kTq9ZxW2mNbVc7L',
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
    description: 'Only the scores of this model; those of all models without it, or when it is empty.',
    schema: { type: 'string' },
    example: 'mdl_4kTq9ZxW2mNbVc7L',
  },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'How many scores a page has at most.',
    schema: historyLimitSchema,
    example: 50,
  },
  cursor: {
    name: 'cursor',
    in: 'query',
    description: 'The `next_cursor` of the page before.',
    schema: { type: 'string', minLength: 1 },
  },
  webhookModelId: {
    name: 'model_id',
    in: 'query',
    description: 'The model, unless the body has it.',
    schema: { type: 'string' },
    example: 'mdl_4kTq9ZxW2mNbVc7L',
  },
  webhookExplain: {
    name: 'explain',
    in: 'query',
    description:
      'Whether to add `drivers` and top reasons to the answer, unless the body says it: `true`, `false`, `1` or `0`.',
    schema: { type: 'string' },
    example: 'false',
  },
} as const satisfies Record<string, Parameter>;
