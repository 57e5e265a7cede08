import type { SentNames } from '../../../shared/messages/sent-names.js';
import type { CallRecord, ScoringCall } from '../scoring-call.js';

/** Different names of a call that are counted. In JSONL they may be data. */
const maxCounted = 1_000;
/** So few names are looked for in each record, instead of each name of the record among them. */
const fewNames = 8;

/** The names of a call that the model does not know. */
export interface IgnoredNames {
  /** The records that sent each name; most often sent first. Only the first thousand different names of the call. */
  readonly counts: ReadonlyMap<string, number>;
  /** Count of the different names. */
  readonly different: number;
}

/** Counts the names of a call that the model does not know. */
export function ignoredNamesOf(call: Pick<ScoringCall, 'records'>, names: SentNames): IgnoredNames {
  const wanted = new Set<string>();
  let different = 0;
  for (const name of names.unknown()) {
    if (name === 'crm_id') continue;
    different += 1;
    if (wanted.size < maxCounted) wanted.add(name);
  }
  if (wanted.size === 0) return { counts: new Map(), different };
  const sums = [...wanted].map((name) => ({ name, records: 0 }));
  if (sums.length <= fewNames) {
    for (const record of call.records)
      for (const sum of sums)
        if (Object.hasOwn(record.fields, sum.name) && !isOwnId(record, sum.name)) sum.records += 1;
  } else countAll(call, new Map(sums.map((sum) => [sum.name, sum])));
  const sent = sums.filter(({ records }) => records > 0).map(({ name, records }) => [name, records] as const);
  sent.sort(([, one], [, other]) => other - one);
  return { counts: new Map(sent), different: different - (wanted.size - sent.length) };
}

/** Counts names that are too many to look for each of them in each record. */
function countAll(call: Pick<ScoringCall, 'records'>, sums: ReadonlyMap<string, { records: number }>): void {
  for (const record of call.records)
    for (const name in record.fields) {
      const sum = sums.get(name);
      if (sum !== undefined && !isOwnId(record, name)) sum.records += 1;
    }
}

/** The names of a record that the model does not know. */
export function* ignoredIn(record: CallRecord, names: SentNames): Generator<string> {
  for (const name in record.fields)
    if (name !== 'crm_id' && names.targetsOf(name).length === 0 && !isOwnId(record, name)) yield name;
}

/** Whether a field has the record's id. Webhooks take it from fields such as `Id`. */
function isOwnId({ fields, crmId, sentId }: CallRecord, name: string): boolean {
  const value = fields[name];
  const id = sentId ?? crmId;
  return crmId !== null && (value === id || (typeof value === 'number' && String(value) === id));
}
