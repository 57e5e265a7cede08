import type { WriteReply } from '../score-records.js';
import { type LikelihoodName, scoreRows } from '../score-reply.js';

/**
 * Writes the flat answer of a webhook: the members of one V1ScoreRow, then model, usage and verdict, these once more as
 * flat strings for tools that cannot reach into objects.
 * @param form.forHubSpotAction adds `outputFields`, which is where HubSpot's custom actions look
 */
export function webhookReplyWriter(form: {
  readonly likelihoodName: LikelihoodName;
  readonly forHubSpotAction: boolean;
}): WriteReply {
  return (outcome) => {
    const { call, usage, verdict } = outcome;
    const [row = '{}'] = scoreRows(outcome, form.likelihoodName);
    const flat = {
      model_id: call.modelId,
      ...(call.bucket === 'test' ? { test: true } : {}),
      usage_remaining: String(usage.remaining),
      validation_state: verdict.state,
      validation_summary: verdict.summary,
    };
    const reply = { ...flat, usage, validation: verdict };
    // The row is JSON already: what follows is put behind its members.
    const written = (rest: object): string => `${row.slice(0, -1)},${JSON.stringify(rest).slice(1)}`;
    if (!form.forHubSpotAction) return written(reply);
    const scalarMembers = scalars({ ...(JSON.parse(row) as Record<string, unknown>), ...flat });
    return written({ ...reply, outputFields: { ...scalarMembers, hs_execution_state: 'SUCCESS' } });
  };
}

/** What a member of `outputFields` can be: a text, a number, true or false, or null where there is no reason to tell. */
const scalars = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value === null || typeof value !== 'object'),
  );
