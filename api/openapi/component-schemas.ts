import { deployBlockedSchema, errorSchema } from '../schemas/error.js';
import { modelFieldSchema, modelListSchema, modelSchema, modelSummarySchema } from '../schemas/model.js';
import { outcomeSchema, outcomesReplySchema, outcomesRequestSchema } from '../schemas/outcomes.js';
import { pastScoreSchema, scoreHistorySchema } from '../schemas/score-history.js';
import { recordSchema, scoreRequestSchema } from '../schemas/score-request.js';
import { legacyScoreResponseSchema, scoreResponseSchema } from '../schemas/score-response.js';
import { driverSchema, legacyScoreRowSchema, scoreRowSchema } from '../schemas/score-row.js';
import { monthUsageSchema, usageSchema } from '../schemas/usage.js';
import { validationDetailSchema, validationSchema } from '../schemas/validation.js';
import { legacyWebhookReplySchema, webhookReplySchema } from '../schemas/webhook-reply.js';
import {
  canonicalWebhookSchema,
  flatWebhookSchema,
  hubSpotActionSchema,
  hubSpotWorkflowSchema,
  n8nSchema,
  pipedriveSchema,
  webhookFormSchema,
  webhookRequestSchema,
} from '../schemas/webhook-request.js';
import type { Schema } from './openapi-types.js';

/** The named schemas of the document, in reading order. */
export const componentSchemas: Readonly<Record<string, Schema>> = {
  ScoreRequest: scoreRequestSchema,
  InputRecord: recordSchema,
  V1ScoreResponse: scoreResponseSchema,
  V1ScoreRow: scoreRowSchema,
  V1Driver: driverSchema,
  V1Usage: usageSchema,
  V1Validation: validationSchema,
  V1Error: errorSchema,
  V1DeployBlocked: deployBlockedSchema,
  WebhookRequest: webhookRequestSchema,
  CanonicalWebhook: canonicalWebhookSchema,
  FlatWebhook: flatWebhookSchema,
  HubSpotActionWebhook: hubSpotActionSchema,
  HubSpotWorkflowWebhook: hubSpotWorkflowSchema,
  PipedriveWebhook: pipedriveSchema,
  N8nWebhook: n8nSchema,
  WebhookForm: webhookFormSchema,
  V1WebhookResponse: webhookReplySchema,
  V1MonthUsage: monthUsageSchema,
  V1ModelList: modelListSchema,
  V1ModelSummary: modelSummarySchema,
  V1Model: modelSchema,
  V1ModelField: modelFieldSchema,
  V1ScoreHistory: scoreHistorySchema,
  V1PastScore: pastScoreSchema,
  V1ValidationDetail: validationDetailSchema,
  OutcomesRequest: outcomesRequestSchema,
  V1Outcome: outcomeSchema,
  V1OutcomesResponse: outcomesReplySchema,
  LegacyScoreResponse: legacyScoreResponseSchema,
  LegacyScoreRow: legacyScoreRowSchema,
  LegacyWebhookResponse: legacyWebhookReplySchema,
};
