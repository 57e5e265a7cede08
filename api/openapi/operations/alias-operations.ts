import { legacyScoreResponseSchema } from '../../schemas/score-response.js';
import { legacyWebhookReplySchema } from '../../schemas/webhook-reply.js';
import { type ErrorResponseOptions, errorResponses } from '../error-responses.js';
import { aliasHeaders } from '../headers.js';
import type { Examples, Operation, Schema } from '../openapi-types.js';
import { scoreOperation } from './score-operation.js';
import { webhookOperation } from './webhook-operation.js';

/** `POST /score`. */
export function scoreAliasOperation({ docsUrl }: ErrorResponseOptions): Operation {
  const options = { docsUrl, headers: aliasHeaders };
  return aliasOf(scoreOperation(options), {
    operationId: 'scoreRecordsLegacy',
    successor: '/v1/score',
    schema: legacyScoreResponseSchema,
    options,
  });
}

/** `POST /webhooks/score`. */
export function webhookAliasOperation({ docsUrl }: ErrorResponseOptions): Operation {
  const options = { docsUrl, headers: aliasHeaders };
  return aliasOf(webhookOperation(options), {
    operationId: 'scoreWebhookLegacy',
    successor: '/v1/webhooks/score',
    schema: legacyWebhookReplySchema,
    options,
  });
}

function aliasOf(
  operation: Operation,
  as: {
    readonly operationId: string;
    readonly successor: string;
    readonly schema: Schema;
    readonly options: ErrorResponseOptions;
  },
): Operation {
  const { 200: scored, ...refusals } = operation.responses;
  const examples = scored?.content?.['application/json']?.examples ?? {};
  return {
    ...operation,
    operationId: as.operationId,
    summary: `${operation.summary} (deprecated)`,
    description:
      `Use \`POST ${as.successor}\` instead: it is the same but for one name, as the likelihood is called ` +
      '`probability` here. Every reply says so in `Deprecation`, `Sunset` and `Link`. An operator may switch the alias ' +
      'off: it then answers 410 `gone`.',
    tags: ['Deprecated aliases'],
    deprecated: true,
    responses: {
      200: {
        description: scored?.description ?? '',
        headers: { ...scored?.headers, ...aliasHeaders },
        content: { 'application/json': { schema: as.schema, examples: withOldName(examples) } },
      },
      ...refusals,
      ...errorResponses(['gone'], { ...as.options, isBeforeKey: true }),
    },
  };
}

/** The examples with the likelihood under its old name. */
const withOldName = (examples: Examples): Examples =>
  JSON.parse(JSON.stringify(examples).replaceAll('"conversion_likelihood"', '"probability"')) as Examples;
