import { DemoProblem } from './demo-problem.js';
import type { ScoredLead } from './tour-result.js';

const bestShown = 8;
const worstShown = 4;

/** The leads that are shown, and what moved the score of each most. */
export interface ShownLeads {
  readonly best: readonly ScoredLead[];
  readonly worst: readonly ScoredLead[];
  /** By crm_id. */
  readonly reasons: ReadonlyMap<string, string>;
}

/**
 * Asks why the best and the worst leads scored as they did, in one call that sends nothing but their crm_ids: the fields
 * are known from when they were scored.
 * @param ranked best first
 * @throws DemoProblem when the service refuses; the signal's reason when it is aborted
 */
export async function shownLeads(
  ranked: readonly ScoredLead[],
  call: {
    readonly url: string;
    readonly apiKey: string;
    readonly modelId: string;
    readonly signal: AbortSignal;
  },
): Promise<ShownLeads> {
  const best = ranked.slice(0, bestShown);
  const worst = ranked.slice(Math.max(bestShown, ranked.length - worstShown));
  const records = [...best, ...worst].map(({ row }) => ({ crm_id: row.crm_id }));
  const response = await fetch(`${call.url}/v1/score`, {
    method: 'POST',
    headers: { authorization: `Bearer ${call.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model_id: call.modelId, explain: true, records }),
    signal: call.signal,
  });
  const text = await response.text();
  if (response.status !== 200)
    throw new DemoProblem(`The reasons were refused with status ${response.status}: ${text}`);
  const { scores }: { scores: readonly Pick<ScoredLead['row'], 'crm_id' | 'top_reason_1'>[] } =
    JSON.parse(text);
  const reasons = new Map(scores.map((row) => [row.crm_id ?? '', row.top_reason_1 ?? '-']));
  return { best, worst, reasons };
}
