import type { Tag } from './openapi-types.js';

/** The description of the document, in Markdown: facts that a caller needs before the first call. */
export const guide = `
Send the fields of CRM records and get a score for each. The score is an integer from 0 to 100 that ranks how
likely the record is to convert. The likelihood is a number from 0 to 1. Scoring uses a model that was trained
for your workspace. The wire format is JSON over HTTPS; no SDK is needed.

## Authentication

Every call needs an API key: \`Authorization: Bearer <API_KEY>\`. Live keys begin with \`<brand>_sk_\`, test
keys with \`<brand>_sk_test_\`. A secret is shown once, when the key is created; treat it as a password.
Webhooks also accept the key in \`X-API-Key\`, or as the user name of HTTP Basic.

A test key scores with the real model and counts in its own free bucket of 1000 records a month. Nothing is
billed and no score is stored. Replies carry \`test: true\`.

## Records

A record is a flat object of your own field names. Fields that the model does not know are ignored. Missing
fields are handled as in the model's training. The reply echoes \`crm_id\`.

A record is \`enriched\` when its \`crm_id\` was scored before: stored values fill in the fields that were not
sent, and the row has \`previous_score\` and \`delta\`. Any other record is cold and is scored from the sent
fields only.

## Usage

Each scored record counts one, in a batch or a webhook. A failed call counts nothing. Paid plans may pass
their limit, up to twice the limit (the backstop). Past the limit, \`in_grace\` is true. At the backstop,
scoring pauses with \`quota_exceeded\` until the month ends (UTC). A call that would pass the backstop is
refused whole.

## Rate

A key may make 10 calls in any second, unless it was created with another rate. Reading calls have a separate
rate, ten times as high. Replies carry the remaining rate in \`RateLimit\`. A call above the rate gets 429
\`rate_limited\` with \`Retry-After\`. One call can carry up to 1000 records.

## Errors

Every unsuccessful reply has the same envelope: \`{"error": {"code", "message", "docs_url"}}\`. Branch on
\`code\`. Retry \`rate_limited\` after the seconds in \`Retry-After\`, and \`internal_error\` with backoff.
Repeating the call clears no other error. An unknown path returns 404 \`not_found\`. A known path with another
method returns 405 \`method_not_allowed\` with \`Allow\`.

## Retries

A scoring call with an \`Idempotency-Key\` is safe to retry after a broken connection. For 24 hours, the same
key with the same body returns the first 200 reply again, with \`Idempotent-Replayed: true\`, and counts
nothing. Every reply has an \`X-Request-Id\`: your own if you send one.

## Versions

The path contains the version: \`/v1\`. New reply members, new optional request members and new endpoints may
be added within a version, so ignore unknown members. Names, types and error codes never change within a
version. The paths without a version are deprecated aliases. They work until they are switched off.
`.trim();

/** The groups of endpoints. */
export const tags: readonly Tag[] = [
  { name: 'Scoring', description: 'Score records. Each scored record counts one towards the month.' },
  {
    name: 'Models',
    description: 'The models of the workspace. Free of charge, also in a read-only workspace.',
  },
  {
    name: 'Score history',
    description: 'Read and erase past scores. Free of charge, also in a read-only workspace.',
  },
  {
    name: 'Outcomes',
    description:
      'Report which leads converted; models are graded by it. Free of charge, also in a read-only workspace.',
  },
  { name: 'Usage', description: 'Read the usage. Free of charge, also in a read-only workspace.' },
  { name: 'Deprecated aliases', description: 'Paths from before v1.' },
];
