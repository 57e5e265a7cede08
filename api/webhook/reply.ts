import { type InputReport, inputReport } from '../call/input/input-report.js';
import type { ScoredRows, WriteReply } from '../call/score-outcome.js';
import { type LikelihoodName, noticesMember, scoreRows, summaryMember } from '../call/score-reply.js';

/**
 * Writes the flat reply of a webhook: the members of one V1ScoreRow, then model, usage and verdict. Usage and verdict
 * are repeated as strings, for tools that cannot read nested objects.
 * @param form.forHubSpotAction adds `outputFields`, the object that HubSpot's custom actions read
 */
export function webhookReplyWriter(form: {
  readonly likelihoodName: LikelihoodName;
  readonly forHubSpotAction: boolean;
}): WriteReply {
  const reports = new WeakMap<ScoredRows, InputReport | undefined>();
  const prepare: WriteReply['prepare'] = async ({ call, rows }) => {
    reports.set(rows, inputReport(call, rows));
  };
  const write: WriteReply = (outcome) => {
    const { call, modelVersion, usage, verdict, notices } = outcome;
    const report = reports.get(outcome.rows);
    const [row = '{}'] = scoreRows({ ...outcome, report }, form.likelihoodName);
    const flat = {
      model_id: call.modelId,
      model_version: modelVersion,
      ...(call.bucket === 'test' ? { test: true } : {}),
      usage_remaining: String(usage.remaining),
      validation_state: verdict.state,
      validation_summary: verdict.summary,
    };
    const reply = { ...flat, usage, validation: verdict, ...noticesMember(notices) };
    // The row is JSON text already; append the other members to it.
    const written = (rest: object): string =>
      `${row.slice(0, -1)},${JSON.stringify(rest).slice(1, -1)}${summaryMember(report)}}`;
    if (!form.forHubSpotAction) return written(reply);
    const scalarMembers = scalars({ ...(JSON.parse(row) as Record<string, unknown>), ...flat });
    return written({ ...reply, outputFields: { ...scalarMembers, hs_execution_state: 'SUCCESS' } });
  };
  return Object.assign(write, { prepare });
}

/** The members that are not objects or arrays. Null stays: a missing top reason is null. */
const scalars = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value === null || typeof value !== 'object'));
