import type { SentNames } from '../../../shared/messages/field-slots.js';
import { type CallRecord, endStep, type ScoringCall } from '../scoring-call.js';

/** Different names of a call that are counted. In JSONL they may be data. */
const maxCounted = 1_000;
/** Looking up so many takes some milliseconds. */
const namesPerTurn = 50_000;

/** The names of a call that the model does not know. */
export interface IgnoredNames {
  /** The records that sent each name; most often sent first. Only the first thousand different names of the call. */
  readonly counts: ReadonlyMap<string, number>;
  /** Count of the different names. */
  readonly different: number;
}

/** Counts the names of a call that the model does not know, in steps. */
export async function ignoredNamesOf(
  call: Pick<ScoringCall, 'records' | 'yieldToEventLoop'>,
  names: SentNames,
): Promise<IgnoredNames> {
  const counts = new Map<string, number>();
  let different = 0;
  for (const name of names.unknown()) {
    if (name === 'crm_id') continue;
    different += 1;
    if (counts.size < maxCounted) counts.set(name, 0);
  }
  if (counts.size === 0) return { counts, different };
  let looked = 0;
  for (const record of call.records) {
    for (const name in record.fields) {
      looked += 1;
      const count = counts.get(name);
      if (count !== undefined && !isOwnId(record, name)) counts.set(name, count + 1);
    }
    if (looked < namesPerTurn) continue;
    looked = 0;
    await endStep(call);
  }
  const sent = [...counts].filter(([, records]) => records > 0);
  sent.sort(([, one], [, other]) => other - one);
  return { counts: new Map(sent), different: different - (counts.size - sent.length) };
}

/** The names of a record that the model does not know. */
export function* ignoredIn(record: CallRecord, names: SentNames): Generator<string> {
  for (const name in record.fields)
    if (name !== 'crm_id' && names.targetsOf(name).length === 0 && !isOwnId(record, name)) yield name;
}

/** Whether a field has the record's id. Webhooks take it from fields such as `Id`. */
function isOwnId({ fields, crmId }: CallRecord, name: string): boolean {
  const value = fields[name];
  return crmId !== null && (value === crmId || (typeof value === 'number' && String(value) === crmId));
}
