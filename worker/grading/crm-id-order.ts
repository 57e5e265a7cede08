/** Leads from one crm_id up to, and not including, another, in MongoDB's order; undefined: to the last. */
export interface LeadRange {
  readonly from: string;
  readonly until: string | undefined;
}

/**
 * Compares crm_ids as MongoDB does, by their UTF-8 bytes, that is by code points. JavaScript's own `<` compares UTF-16
 * units, and puts the characters beyond U+FFFF, which are two surrogates, before those from U+E000 on.
 * @returns below 0, 0 or above 0
 */
export function compareCrmIds(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [unit, otherUnit] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (unit !== otherUnit) return rankOf(unit) - rankOf(otherUnit);
  }
  return one.length - other.length;
}

/** Whether a lead is in a range. */
export const isInRange = (crmId: string, { from, until }: LeadRange): boolean =>
  (from === '' || compareCrmIds(crmId, from) >= 0) &&
  (until === undefined || compareCrmIds(crmId, until) < 0);

/** Surrogates come last. */
const rankOf = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);
