/** What a call carries: a thousand records, one record, or one record by the webhook endpoint. */
export type CallShape = 'batch' | 'single' | 'webhook';

/** Calls arrive when the one before was answered (closed), or at random moments at a given rate (open). */
export type Load =
  | { readonly kind: 'closed'; readonly callers: number }
  | { readonly kind: 'open'; readonly callsPerSecond: number };

/** An open load may also be a share of what another scenario achieved. */
type PlannedLoad = Load | { readonly kind: 'open'; readonly shareOf: string; readonly share: number };

/** What is measured: the service, or the bare queue that it is held against. */
export type Target = 'service' | 'bare';

/** One row of the benchmark. */
export interface Scenario {
  /** Unique; also what `--only` matches, as is `row`. */
  readonly id: string;
  /** The name in the table; rows of one name differ in their concurrency. */
  readonly row: string;
  readonly target: Target;
  readonly shape: CallShape;
  /** `known`: crm_ids that were scored before, so that each has a previous score; `new`: never seen before. */
  readonly leads: 'known' | 'new';
  readonly load: PlannedLoad;
  /** Longer than the others, by this factor, where few calls are made. */
  readonly windowFactor?: number;
}

/** The row of the work alone, in one process without HTTP, queue and databases. */
export const floorRow = 'floor';

/**
 * A bare Koa with one BullMQ job a call, which neither authenticates nor meters nor records, and the row that is held
 * against it; whoever asks for one of them gets both.
 */
export const bareRow = 'bare-bullmq';
export const besideBareRow = 'webhook';

/** The row that efficiency is computed from, and that the open batch load is a share of. */
export const mainScenario = 'batch-1000x4';

/** The rows, in the order of the table; the floor comes before them. */
export const scenarios: readonly Scenario[] = [
  batch('batch-1000x1', 'batch-1000', { load: { kind: 'closed', callers: 1 } }),
  batch(mainScenario, 'batch-1000', { load: { kind: 'closed', callers: 4 } }),
  batch('batch-1000-coldx4', 'batch-1000-cold', { load: { kind: 'closed', callers: 4 }, leads: 'new' }),
  batch('batch-1000-open', 'batch-1000-open', {
    load: { kind: 'open', shareOf: mainScenario, share: 0.55 },
    windowFactor: 2,
  }),
  single('single', { load: { kind: 'closed', callers: 32 } }),
  single('single-open', { load: { kind: 'open', callsPerSecond: 100 }, windowFactor: 2 }),
  single(besideBareRow, { load: { kind: 'closed', callers: 32 }, shape: 'webhook' }),
  single(bareRow, { load: { kind: 'closed', callers: 32 }, target: 'bare' }),
];

/** Where each shape is sent. */
export const endpointOf: Readonly<Record<CallShape, string>> = {
  batch: '/v1/score',
  single: '/v1/score',
  webhook: '/v1/webhooks/score',
};

type Differences = Pick<Scenario, 'load'> &
  Partial<Pick<Scenario, 'leads' | 'shape' | 'target' | 'windowFactor'>>;

function batch(id: string, row: string, differences: Differences): Scenario {
  return { id, row, target: 'service', shape: 'batch', leads: 'known', ...differences };
}

function single(id: string, differences: Differences): Scenario {
  return { id, row: id, target: 'service', shape: 'single', leads: 'known', ...differences };
}
