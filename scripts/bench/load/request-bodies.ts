import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { generateLeads } from '../../leads/lead-generator.js';
import type { CallShape, Scenario } from '../scenarios.js';

/** Source of the records: generated leads for the demo's bundle, golden records for any other. */
export interface RecordSource {
  readonly modelId: string;
  readonly bundlePath: string;
  readonly isDemoBundle: boolean;
  /** Unix ms that generated leads are made for. */
  readonly nowMs: number;
}

type WorkloadRecord = Readonly<Record<string, unknown>>;

/** Records of one batch. */
export const batchRecords = 1000;

/** Bodies of one scenario in rotation. */
export interface BodySource {
  readonly recordsPerCall: number;
  next(): Buffer;
}

const knownLeads = 20_000;
/** Has no factor in common with the number of known leads, so that their crm_ids differ. */
const knownStride = 7_919;
const seed = 20_261_101;
const crmIdLength = 10; // of known and of new leads
const crmIdMark = '"crm_id":"';

/** Makes the bodies of all scenarios. The numbers of new leads continue across scenarios, so none is sent twice. */
export class RequestBodies {
  private readonly known = new Map<CallShape, readonly Buffer[]>();
  private fresh: readonly Buffer[] | undefined;
  private newLeads = 0;

  private constructor(
    private readonly modelId: string,
    private readonly records: readonly WorkloadRecord[],
  ) {}

  /** @throws Error if a bundle without golden records is the source */
  static async from({ modelId, bundlePath, isDemoBundle, nowMs }: RecordSource): Promise<RequestBodies> {
    const leads = isDemoBundle
      ? generateLeads({ seed, count: knownLeads, now: new Date(nowMs) }).map(({ record }) => record)
      : await goldenRecords(bundlePath);
    return new RequestBodies(
      modelId,
      leads.map(({ crm_id: _, ...fields }) => fields),
    );
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
    const { modelId: model_id, records } = this;
    if (shape === 'webhook') return records.map((record, index) => ({ model_id, crm_id: crmIdOf(index), record }));
    const identified = records.map((record, index) => ({ crm_id: crmIdOf(index), ...record }));
    const size = shape === 'batch' ? batchRecords : 1;
    return Array.from({ length: Math.floor(identified.length / size) }, (_, call) => ({
      model_id,
      records: identified.slice(call * size, (call + 1) * size),
    }));
  }

  /** Writes unused crm_ids into a batch in place. The batch must not be in flight. */
  private renewed(body: Buffer): Buffer {
    for (let at = body.indexOf(crmIdMark); at >= 0; at = body.indexOf(crmIdMark, at + crmIdMark.length)) {
      this.newLeads += 1;
      body.write(scattered(this.newLeads), at + crmIdMark.length, 'latin1');
    }
    return body;
  }
}

/** Repeats the golden records up to the number of known leads. */
async function goldenRecords(bundlePath: string): Promise<WorkloadRecord[]> {
  const golden = (await readBundle(bundlePath)).get('golden.jsonl');
  if (golden === undefined) throw new Error('the bundle has no golden.jsonl, so it has no records to send');
  const lines = golden.toString('utf8').trim().split('\n');
  const records = lines.map((line) => (JSON.parse(line) as { record: WorkloadRecord }).record);
  return Array.from({ length: knownLeads }, (_, index) => records[index % records.length] ?? {});
}

/** Ten digits for a number below 2^32. Neighbours are far apart in an index, as in a CRM. */
export const scattered = (number: number): string =>
  String(Math.imul(number, scatterFactor) >>> 0).padStart(crmIdLength, '0');

/** An odd factor modulo 2^32 gives every number once and spreads neighbours (Knuth, TAOCP 6.4). */
const scatterFactor = 2_654_435_761;

/** The crm_id of a known lead. The records of a call are spread over the index, as in a CRM. */
const crmIdOf = (lead: number): string =>
  `LEAD-${String((lead * knownStride) % knownLeads).padStart(crmIdLength - 5, '0')}`;

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
