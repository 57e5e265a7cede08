/** Request of one call: 1,000 records, one record, or one record to the webhook endpoint. */
export type CallShape = 'batch' | 'single' | 'webhook';

/** Closed: each caller waits for its reply before it calls again. Open: calls start at random times at a given rate. */
export type Load =
  | { readonly kind: 'closed'; readonly callers: number }
  | { readonly kind: 'open'; readonly callsPerSecond: number };

/** An open load can also be a share of the throughput of another scenario. */
type PlannedLoad = Load | { readonly kind: 'open'; readonly shareOf: string; readonly share: number };

/** One row of the benchmark. */
export interface Scenario {
  /** Unique. `--only` matches the id and the row. */
  readonly id: string;
  /** Name in the table. Scenarios of one row differ in their concurrency. */
  readonly row: string;
  /** The service, the bare queue it is compared with, or the scoring code alone in one process. */
  readonly target: 'service' | 'bare' | 'floor';
  readonly shape: CallShape;
  /** `known`: every crm_id has a previous score. `new`: no crm_id was scored before. */
  readonly leads: 'known' | 'new';
  readonly load: PlannedLoad;
  /** Factor on the length of the window, for loads of few calls. */
  readonly windowFactor?: number;
}

export const floorRow = 'floor';
/** Koa with one BullMQ job per call, without authentication, metering or records. Always measured with `webhook`. */
export const bareRow = 'bare-bullmq';
export const comparedRow = 'webhook';

/** Base of the efficiency and of the open batch load. */
export const mainScenario = 'batch-1000x4';

const oneCaller: Load = { kind: 'closed', callers: 1 };
const fourCallers: Load = { kind: 'closed', callers: 4 };
const manyCallers: Load = { kind: 'closed', callers: 32 };
const batch = { target: 'service', shape: 'batch', leads: 'known' } as const;
const single = { target: 'service', shape: 'single', leads: 'known' } as const;

/** The rows in the order of the table. */
export const scenarios: readonly Scenario[] = [
  { ...batch, id: floorRow, row: floorRow, target: 'floor', load: oneCaller },
  { ...batch, id: 'batch-1000x1', row: 'batch-1000', load: oneCaller },
  { ...batch, id: mainScenario, row: 'batch-1000', load: fourCallers },
  { ...batch, id: 'batch-1000-coldx4', row: 'batch-1000-cold', leads: 'new', load: fourCallers },
  {
    ...batch,
    id: 'batch-1000-open',
    row: 'batch-1000-open',
    load: { kind: 'open', shareOf: mainScenario, share: 0.55 },
    windowFactor: 2,
  },
  { ...single, id: 'single', row: 'single', load: manyCallers },
  {
    ...single,
    id: 'single-open',
    row: 'single-open',
    load: { kind: 'open', callsPerSecond: 100 },
    windowFactor: 2,
  },
  { ...single, id: comparedRow, row: comparedRow, shape: 'webhook', load: manyCallers },
  { ...single, id: bareRow, row: bareRow, target: 'bare', load: manyCallers },
];
