import { described, describedObject, text } from '../../../shared/contract/schema.js';
import type { LikelihoodName } from '../../call/score-reply.js';
import { usageSchema } from '../usage.js';
import { validationSchema, validationStateSchema } from '../validation.js';
import { inputSummarySchema } from './input-report.js';
import { noticesSchema, rowMembers, testSchema, usedModelMembers } from './score-response.js';

/** The model, and members of `usage` and `validation` repeated as text. */
const flatMembers = {
  ...usedModelMembers,
  usage_remaining: {
    type: 'string',
    pattern: '^-?[0-9]+$',
    description: '`usage.remaining` as text, for tools that cannot read nested objects.',
  },
  validation_state: described('The same as `validation.state`.', validationStateSchema),
  validation_summary: described('The same as `validation.summary`.', text),
} as const;

/** The object that HubSpot's custom actions read: the flat members, and the state of the action. */
function outputFieldsSchema(likelihoodName: LikelihoodName) {
  const { 'drivers?': _drivers, 'warnings?': _warnings, 'input?': _input, ...scalars } = rowMembers(likelihoodName);
  return describedObject(
    'Only for HubSpot custom actions: every flat member of the reply, in the object that HubSpot reads.',
    {
      ...scalars,
      'test?': testSchema,
      ...flatMembers,
      hs_execution_state: {
        type: 'string',
        const: 'SUCCESS',
        description: 'Marks the action as successful for HubSpot.',
      },
    },
  );
}

const replySchema = (likelihoodName: LikelihoodName, description: string) =>
  describedObject(description, {
    ...rowMembers(likelihoodName),
    'test?': testSchema,
    ...flatMembers,
    usage: usageSchema,
    validation: validationSchema,
    'notices?': noticesSchema,
    'input_summary?': inputSummarySchema,
    'outputFields?': outputFieldsSchema(likelihoodName),
  });

/** The reply of `POST /v1/webhooks/score`: the members of one V1ScoreRow, then model, usage and verdict. */
export const webhookReplySchema = replySchema(
  'conversion_likelihood',
  'The score of one record as a flat object, so that a CRM can map each member to a field.',
);

/** The reply of the alias `POST /webhooks/score`. */
export const legacyWebhookReplySchema = replySchema(
  'probability',
  'The score of one record as a flat object, in the format before v1: the likelihood is called `probability`.',
);
