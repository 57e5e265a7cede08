import type { LikelihoodName } from '../score-reply.js';
import { modelIdSchema } from './score-request.js';
import { testSchema } from './score-response.js';
import { requiredOfRow, rowProperties } from './score-row.js';
import { usageSchema } from './usage.js';
import { validationSchema, validationStateSchema } from './validation.js';

/** Members that repeat what stands in `usage` and `validation`, as text, beside the model. */
const flatMembers = {
  model_id: { ...modelIdSchema, description: 'The model that was used.' },
  usage_remaining: {
    type: 'string',
    pattern: '^-?[0-9]+$',
    description: '`usage.remaining` as text, for tools that cannot reach into objects.',
  },
  validation_state: { ...validationStateSchema, description: '`validation.state` once more.' },
  validation_summary: { type: 'string', description: '`validation.summary` once more.' },
} as const;
const namesOfFlatMembers = Object.keys(flatMembers);

/** What HubSpot's custom actions read: the flat members, and that the action has succeeded. */
function outputFieldsSchema(likelihoodName: LikelihoodName) {
  const { drivers: _drivers, warnings: _warnings, ...scalars } = rowProperties(likelihoodName);
  return {
    type: 'object',
    required: [...requiredOfRow(likelihoodName), ...namesOfFlatMembers, 'hs_execution_state'],
    properties: {
      ...scalars,
      test: testSchema,
      ...flatMembers,
      hs_execution_state: {
        type: 'string',
        const: 'SUCCESS',
        description: 'Tells HubSpot that the action has succeeded.',
      },
    },
    description:
      'Only for HubSpot custom actions: every flat member of the answer, where HubSpot looks for them.',
  } as const;
}

function replySchema(likelihoodName: LikelihoodName, description: string) {
  return {
    type: 'object',
    required: [...requiredOfRow(likelihoodName), ...namesOfFlatMembers, 'usage', 'validation'],
    properties: {
      ...rowProperties(likelihoodName),
      test: testSchema,
      ...flatMembers,
      usage: usageSchema,
      validation: validationSchema,
      outputFields: outputFieldsSchema(likelihoodName),
    },
    description,
  } as const;
}

/** The answer of `POST /v1/webhooks/score`: the members of one V1ScoreRow, then model, usage and verdict. */
export const webhookReplySchema = replySchema(
  'conversion_likelihood',
  'The score of one record, flat, so that a CRM can map each member to a field.',
);

/** The answer of the alias `POST /webhooks/score`. */
export const legacyWebhookReplySchema = replySchema(
  'probability',
  'The score of one record, flat, as before v1: the likelihood is called `probability`.',
);
