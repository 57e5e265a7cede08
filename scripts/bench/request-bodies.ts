import type { CallShape, Scenario } from './scenarios.js';
import type { WorkloadRecord } from './workload-records.js';

/** Records of one batch. */
export const batchRecords = 1000;

/** Bodies of one scenario, ready to be sent, one after the other and then again from the first. */
export interface BodySource {
  readonly recordsPerCall: number;
  next(): Buffer;
}

export interface Workload {
  readonly modelId: string;
  readonly records: readonly WorkloadRecord[];
  /** One a record. */
  readonly crmIds: readonly string[];
}

const crmIdDigits = 10;
const placeholder = '#'.repeat(crmIdDigits);
/** Odd, so that multiplying by it modulo 2^32 gives every number once: neighbours are far apart (Knuth, 6.4). */
const scatterFactor = 2_654_435_761;

/** Makes the bodies of scenarios. The numbers of new leads go on from scenario to scenario: none comes twice. */
export class RequestBodies {
  private readonly known = new Map<CallShape, readonly Buffer[]>();
  private readonly crmIdAt = new Map<Buffer, Uint32Array>();
  private fresh: readonly Buffer[] | undefined;
  private newLeads = 0;

  constructor(private readonly workload: Workload) {}

  /** The bodies of a scenario. */
  source({ shape, leads }: Pick<Scenario, 'shape' | 'leads'>): BodySource {
    if (leads === 'known') return cycle(this.ofKnownLeads(shape), shape === 'batch' ? batchRecords : 1);
    if (shape !== 'batch') throw new Error('new leads are sent in batches only');
    const bodies = cycle(this.ofNewLeads(), batchRecords);
    return { ...bodies, next: () => this.renewed(bodies.next()) };
  }

  /** Every known lead once, in batches. */
  ofKnownLeads(shape: CallShape): readonly Buffer[] {
    let bodies = this.known.get(shape);
    if (bodies === undefined) {
      bodies = this.calls(shape).map((call) => Buffer.from(JSON.stringify(call)));
      this.known.set(shape, bodies);
    }
    return bodies;
  }

  private calls(shape: CallShape): unknown[] {
    const { modelId: model_id, records, crmIds } = this.workload;
    if (shape === 'webhook')
      return records.map((record, index) => ({ model_id, crm_id: crmIds[index], record }));
    const identified = records.map((record, index) => ({ crm_id: crmIds[index], ...record }));
    return inGroups(identified, shape === 'batch' ? batchRecords : 1).map((group) => ({
      model_id,
      records: group,
    }));
  }

  private ofNewLeads(): readonly Buffer[] {
    this.fresh ??= inGroups(this.workload.records, batchRecords).map((group) => {
      const records = group.map((record) => ({ crm_id: placeholder, ...record }));
      const body = Buffer.from(JSON.stringify({ model_id: this.workload.modelId, records }));
      const places = new Uint32Array(group.length);
      let from = 0;
      for (let index = 0; index < places.length; index += 1) {
        from = body.indexOf(placeholder, from) + 1;
        places[index] = from - 1;
      }
      this.crmIdAt.set(body, places);
      return body;
    });
    return this.fresh;
  }

  /** Writes crm_ids that were never used before into a body, in place: it must not be on its way any more. */
  private renewed(body: Buffer): Buffer {
    for (const place of this.crmIdAt.get(body) ?? []) {
      this.newLeads += 1;
      let rest = Math.imul(this.newLeads, scatterFactor) >>> 0;
      for (let digit = crmIdDigits - 1; digit >= 0; digit -= 1) {
        body[place + digit] = 48 + (rest % 10);
        rest = Math.floor(rest / 10);
      }
    }
    return body;
  }
}

function cycle(bodies: readonly Buffer[], recordsPerCall: number): BodySource {
  let index = 0;
  return {
    recordsPerCall,
    next: () => {
      const body = bodies[index % bodies.length];
      if (body === undefined) throw new Error('there are no bodies to send');
      index += 1;
      return body;
    },
  };
}

function inGroups<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.floor(items.length / size) }, (_, group) =>
    items.slice(group * size, (group + 1) * size),
  );
}
