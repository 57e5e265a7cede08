/** Request of one call: 1,000 records, one record, or one record to the webhook endpoint. */
export type CallShape = 'batch' | 'single' | 'webhook';

/** Callers that wait for each reply before they call again; or calls that start at random times at a given rate. */
export type Load = { readonly callers: number } | { readonly callsPerSecond: number };

/** One row of the benchmark. */
export interface Scenario {
  /** Unique. `--only` matches the id and the row. */
  readonly id: string;
  /** Name in the table. Scenarios of one row differ in their load. */
  readonly row: string;
  /** The service, the bare queue it is compared with, or the scoring code alone in this process. */
  readonly target: 'service' | 'bare' | 'floor';
  readonly shape: CallShape;
  /** `known`: every crm_id has a previous score. `new`: no crm_id was scored before. */
  readonly leads: 'known' | 'new';
  /** A share refers to the calls per second of `mainScenario`. */
  readonly load: Load | { readonly shareOfMain: number };
  /** Calls of a second organisation, without calls of the first or beside them. By default the first calls alone. */
  readonly second?: 'alone' | 'beside';
}

export const floorRow = 'floor';
/** Koa with one BullMQ job per call, without authentication, metering or records. Always measured with `webhook`. */
export const bareRow = 'bare-bullmq';
export const comparedRow = 'webhook';
export const singleOpenRow = 'single-open';

/** Batches of one organisation beside singles of another. Always measured with each of the two alone. */
export const mixedRow = 'mixed';
/** The singles of `mixed`: beside the batches, and alone. */
export const mixedSingles = { beside: 'mixed-singles', alone: 'singles-alone', load: { callsPerSecond: 20 } } as const;

const batch = { target: 'service', shape: 'batch', leads: 'known' } as const;
const single = { ...batch, shape: 'single' } as const;

/** Base of the efficiency and of the open batch load. */
export const mainScenario = { ...batch, id: 'batch-1000x4', row: 'batch-1000', load: { callers: 4 } } as const;

/** The rows in the order of the table. */
export const scenarios: readonly Scenario[] = [
  { ...batch, id: floorRow, row: floorRow, target: 'floor', load: { callers: 1 } },
  { ...batch, id: 'batch-1000x1', row: 'batch-1000', load: { callers: 1 } },
  mainScenario,
  { ...batch, id: 'batch-1000-coldx4', row: 'batch-1000-cold', leads: 'new', load: { callers: 4 } },
  { ...batch, id: 'batch-1000-open', row: 'batch-1000-open', load: { shareOfMain: 0.55 } },
  { ...single, id: 'single', row: 'single', load: { callers: 32 } },
  { ...single, id: singleOpenRow, row: singleOpenRow, load: { callsPerSecond: 100 } },
  { ...batch, id: mixedRow, row: mixedRow, load: { callers: 4 }, second: 'beside' },
  { ...single, id: mixedSingles.alone, row: mixedSingles.alone, load: mixedSingles.load, second: 'alone' },
  { ...single, id: comparedRow, row: comparedRow, shape: 'webhook', load: { callers: 32 } },
  { ...single, id: bareRow, row: bareRow, target: 'bare', load: { callers: 32 } },
];
