import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { generateLeads } from '../../leads/lead-generator.js';
import { seededRandom } from '../../leads/seeded-random.js';
import type { CallShape, Scenario } from '../scenarios.js';

/** Source of the records. Every process of a run generates the same records from it. */
export type RecordSource =
  | { readonly kind: 'leads'; readonly nowMs: number }
  | { readonly kind: 'golden'; readonly bundlePath: string };

type WorkloadRecord = Readonly<Record<string, unknown>>;

/** Generated leads for the demo's bundle, golden records for any other. */
export const recordSourceOf = (bundle: {
  readonly bundlePath: string;
  readonly isDemoBundle: boolean;
}): RecordSource =>
  bundle.isDemoBundle ? { kind: 'leads', nowMs: Date.now() } : { kind: 'golden', bundlePath: bundle.bundlePath };

/** Records of one batch. */
export const batchRecords = 1000;

/** Bodies of one scenario in rotation. */
export interface BodySource {
  readonly recordsPerCall: number;
  next(): Buffer;
}

const knownLeads = 20_000;
const seed = 20_261_101;
const crmIdLength = 10; // of known and of new leads
const crmIdMark = '"crm_id":"';
/** An odd factor modulo 2^32 gives every number once and spreads neighbours (Knuth, TAOCP 6.4). */
const scatterFactor = 2_654_435_761;

/** Makes the bodies of all scenarios. The numbers of new leads continue across scenarios, so none is sent twice. */
export class RequestBodies {
  private readonly known = new Map<CallShape, readonly Buffer[]>();
  private fresh: readonly Buffer[] | undefined;
  private newLeads = 0;

  private constructor(
    private readonly modelId: string,
    private readonly records: readonly WorkloadRecord[],
    /** One per record. */
    private readonly crmIds: readonly string[],
  ) {}

  /** @throws Error if a bundle without golden records is the source */
  static async from(source: RecordSource, modelId: string): Promise<RequestBodies> {
    const records = source.kind === 'leads' ? leadRecords(source.nowMs) : await goldenRecords(source.bundlePath);
    return new RequestBodies(modelId, records, shuffledCrmIds());
  }

  source({ shape, leads }: Pick<Scenario, 'shape' | 'leads'>): BodySource {
    if (leads === 'known') return cycle(this.ofKnownLeads(shape), shape === 'batch' ? batchRecords : 1);
    if (shape !== 'batch') throw new Error('new leads are sent in batches only');
    this.fresh ??= this.ofKnownLeads(shape).map((body) => Buffer.from(body));
    const bodies = cycle(this.fresh, batchRecords);
    return { ...bodies, next: () => this.renewed(bodies.next()) };
  }

  /** Every known lead once. */
  ofKnownLeads(shape: CallShape): readonly Buffer[] {
    const made = this.known.get(shape) ?? this.calls(shape).map((call) => Buffer.from(JSON.stringify(call)));
    this.known.set(shape, made);
    return made;
  }

  private calls(shape: CallShape): unknown[] {
    const { modelId: model_id, records, crmIds } = this;
    if (shape === 'webhook') return records.map((record, index) => ({ model_id, crm_id: crmIds[index], record }));
    const identified = records.map((record, index) => ({ crm_id: crmIds[index], ...record }));
    const groups = inGroups(identified, shape === 'batch' ? batchRecords : 1);
    return groups.map((group) => ({ model_id, records: group }));
  }

  /** Writes unused crm_ids into a batch in place. The batch must not be in flight. */
  private renewed(body: Buffer): Buffer {
    for (let at = body.indexOf(crmIdMark); at >= 0; at = body.indexOf(crmIdMark, at + crmIdMark.length)) {
      this.newLeads += 1;
      const id = Math.imul(this.newLeads, scatterFactor) >>> 0;
      body.write(String(id).padStart(crmIdLength, '0'), at + crmIdMark.length, 'latin1');
    }
    return body;
  }
}

const leadRecords = (nowMs: number): WorkloadRecord[] =>
  generateLeads({ seed, count: knownLeads, now: new Date(nowMs) }).map(({ record }) => withoutCrmId(record));

/** Repeats the golden records up to the number of known leads. */
async function goldenRecords(bundlePath: string): Promise<WorkloadRecord[]> {
  const golden = (await readBundle(bundlePath)).get('golden.jsonl');
  if (golden === undefined) throw new Error('the bundle has no golden.jsonl, so it has no records to send');
  const lines = golden.toString('utf8').trim().split('\n');
  const records = lines.map((line) => withoutCrmId((JSON.parse(line) as { record: WorkloadRecord }).record));
  return Array.from({ length: knownLeads }, (_, index) => records[index % records.length] ?? {});
}

const withoutCrmId = ({ crm_id: _, ...fields }: WorkloadRecord): WorkloadRecord => fields;

/** The crm_ids of the known leads, shuffled: the records of a call are spread over the index, as in a CRM. */
function shuffledCrmIds(): string[] {
  const ids = Array.from(
    { length: knownLeads },
    (_, index) => `LEAD-${String(index + 1).padStart(crmIdLength - 5, '0')}`,
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

function cycle(bodies: readonly Buffer[], recordsPerCall: number): BodySource {
  let index = 0;
  return {
    recordsPerCall,
    next: () => {
      const body = bodies[index++ % bodies.length];
      if (body === undefined) throw new Error('no bodies to send');
      return body;
    },
  };
}

const inGroups = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.floor(items.length / size) }, (_, group) => items.slice(group * size, (group + 1) * size));
