import { readBundle } from '../../shared/bundle/read-bundle.js';
import { generateLeads } from '../demo/lead-generator.js';
import { seededRandom } from '../demo/seeded-random.js';

/** A record without its crm_id, which is chosen call by call. */
export type WorkloadRecord = Readonly<Record<string, unknown>>;

/** Where the records come from; every process of a run makes the same ones from it. */
export type RecordSource =
  | { readonly kind: 'leads'; readonly nowMs: number }
  | { readonly kind: 'golden'; readonly bundlePath: string };

/** Made-up leads for the demo's bundle, which the demo makes up as well; the golden records of any other. */
export const recordSourceOf = ({
  bundlePath,
  isDemoBundle,
}: {
  readonly bundlePath: string;
  readonly isDemoBundle: boolean;
}): RecordSource => (isDemoBundle ? { kind: 'leads', nowMs: Date.now() } : { kind: 'golden', bundlePath });

/** Leads that are known to the organisation, each with a crm_id of its own. */
const knownLeadCount = 20_000;

const seed = 20_261_101;

/**
 * The records of the workload, in an order that says nothing of their crm_ids: `knownLeadCount` of them, made-up leads
 * or a bundle's golden records over and over.
 * @throws Error when a bundle without golden records is asked for them
 */
export async function workloadRecords(source: RecordSource): Promise<WorkloadRecord[]> {
  if (source.kind === 'leads') {
    const leads = generateLeads({ seed, count: knownLeadCount, now: new Date(source.nowMs) });
    return leads.map(({ record }) => withoutCrmId(record));
  }
  const golden = (await readBundle(source.bundlePath)).get('golden.jsonl');
  if (golden === undefined)
    throw new Error('the bundle has no golden.jsonl, so there are no records to send');
  const records = golden
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => withoutCrmId((JSON.parse(line) as { record: WorkloadRecord }).record));
  return Array.from({ length: knownLeadCount }, (_, index) => records[index % records.length] ?? {});
}

/**
 * The crm_ids of the known leads, shuffled: a call's records are then scattered over the index, as a CRM's are.
 * @returns `knownLeadCount` of them, the same each time
 */
export function knownCrmIds(): string[] {
  const ids = Array.from(
    { length: knownLeadCount },
    (_, index) => `LEAD-${String(index + 1).padStart(5, '0')}`,
  );
  const random = seededRandom(seed);
  for (let last = ids.length - 1; last > 0; last -= 1) {
    const other = random.integer(0, last);
    const [a = '', b = ''] = [ids[last], ids[other]];
    ids[last] = b;
    ids[other] = a;
  }
  return ids;
}

function withoutCrmId({ crm_id: _, ...fields }: WorkloadRecord): WorkloadRecord {
  return fields;
}
