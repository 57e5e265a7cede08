/** A JSON object. */
type Members = Readonly<Record<string, unknown>>;

const reasons: ReadonlySet<string> = new Set(['top_reason_1', 'top_reason_2', 'top_reason_3']);

/**
 * The reply of a scoring call after one of its leads was erased: the lead's rows keep the score, as nobody's, and nothing
 * that was made of its fields. They look like those of a record that nothing can be said of.
 * @param reply as sent: a batch's, or the flat one of a webhook
 */
export function replyWithoutLead(reply: string, crmId: string): string {
  const answer = JSON.parse(reply) as Members;
  const { scores } = answer;
  if (!Array.isArray(scores)) return JSON.stringify(rowWithoutLead(answer, crmId));
  const rows = scores.map((row: Members) => rowWithoutLead(row, crmId));
  return JSON.stringify({ ...answer, scores: rows });
}

function rowWithoutLead(row: Members, crmId: string): Members {
  if (row.crm_id !== crmId) return row;
  return changed(row, (name, value) => {
    // A warning says how old the record is, which is one of its fields.
    if (name === 'crm_id' || name === 'warnings') return undefined;
    if (name === 'drivers') return [];
    if (reasons.has(name)) return null;
    return name === 'outputFields' ? outputWithoutLead(value as Members) : value;
  });
}

/** What HubSpot reads has no member where there is nothing to say. */
const outputWithoutLead = (output: Members): Members =>
  changed(output, (name, value) => (name === 'crm_id' || reasons.has(name) ? undefined : value));

/** An object with other values, in the same order; without those members for which there is none. */
function changed(members: Members, newValue: (name: string, value: unknown) => unknown): Members {
  const entries = Object.entries(members).map(([name, value]) => [name, newValue(name, value)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
