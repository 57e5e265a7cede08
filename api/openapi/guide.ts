import type { Tag } from './openapi-types.js';

/** What a caller should know before the first call: the description of the document, in Markdown. */
export const guide = `
Send the fields of CRM records, get a score for each: an integer from 0 to 100 that ranks how likely the record is to
convert, and a likelihood from 0 to 1. Scoring runs on a model that was trained for your workspace. The wire format is
JSON over HTTPS; no SDK is needed.

## Authentication

Every call carries an API key: \`Authorization: Bearer <API_KEY>\`. Live keys begin \`<brand>_sk_\`, test keys
\`<brand>_sk_test_\`. A secret is shown once, when the key is made; treat it as a password. Webhooks also take the key in
\`X-API-Key\`, or as the user name of HTTP Basic.

A test key scores with the real model, into a free bucket of 1000 records a month of its own: nothing is billed and
no score is kept. Its replies carry \`test: true\`.

## Records

A record is a flat object of your own field names. Fields that the model does not know are ignored, and fields that are
missing are treated as the model was trained to treat them. A \`crm_id\` is echoed. When it was scored before, the row is
\`enriched\`: what is known of the record fills in the fields that were not sent, and the row has \`previous_score\` and
\`delta\`. Everything else is a cold record, scored from what was sent and nothing more.

## Usage

One scored record counts one, whichever way it came; a call that fails counts nothing. Paid plans may pass their limit up
to twice of it, the backstop: past the limit \`in_grace\` is true, at the backstop scoring pauses with
\`quota_exceeded\` until the month ends (UTC). A call that would pass the backstop is refused whole.

## Rate

A key may make 10 calls in any second, unless it was made with another rate; the calls that only read have a rate of
their own, ten times that. Replies say what is left in \`RateLimit\`. A call above the rate is answered 429
\`rate_limited\`, with \`Retry-After\`. Up to 1000 records fit into one call.

## Errors

Every reply that is not a success has the same envelope: \`{"error": {"code", "message", "docs_url"}}\`. Branch on
\`code\`. Retry \`rate_limited\` after the seconds in \`Retry-After\`, and \`internal_error\` with backoff; nothing else is
cleared by sending the same call again. An unknown path is 404 \`not_found\`, a known one with another method 405
\`method_not_allowed\` with \`Allow\`.

## Sending again

Put an \`Idempotency-Key\` on a scoring call and it is safe to send it again after a broken connection: for 24 hours the
same key with the same body gets the first 200 again, not counted again, with \`Idempotent-Replayed: true\`. Every reply
has an \`X-Request-Id\`, which is your own when you send one.

## Versions

The version is in the path: \`/v1\`. New members of replies, new optional members of requests and new endpoints may be
added to it, so ignore what you do not know. Names, types and error codes never change within it. The paths without a
version still work until they are switched off, as deprecated aliases.
`.trim();

/** The groups of endpoints. */
export const tags: readonly Tag[] = [
  { name: 'Scoring', description: 'Score records. Each scored record counts one towards the month.' },
  { name: 'Models', description: 'What can be scored with. Free of charge, also in a read-only workspace.' },
  {
    name: 'Score history',
    description: 'What has been scored, and how to erase it. Free of charge, also in a read-only workspace.',
  },
  {
    name: 'Outcomes',
    description:
      'What became of the leads, by which models are graded. Free of charge, also in a read-only workspace.',
  },
  { name: 'Usage', description: 'What has been counted. Free of charge, also in a read-only workspace.' },
  { name: 'Deprecated aliases', description: 'Paths from before v1.' },
];
