/** Numbers of one fleet, and the load on it. */
export interface FleetSize {
  readonly name: 'full' | 'quick';
  readonly organisations: number;
  /** Each belongs to an organisation of its own; the other organisations only have a counter. */
  readonly models: number;
  /** Models that are called. */
  readonly activeModels: number;
  /** Leads of each active organisation that the load scores again and again. */
  readonly hotLeads: number;
  /** Models of one organisation beside the one that is called; some of them are called in turn. */
  readonly otherModels: number;
  /** Stored predictions of each database, ascending. Rows other than `stored` use the last. */
  readonly predictions: readonly number[];
  readonly gateways: readonly number[];
  readonly workers: readonly number[];
  readonly lanes: readonly number[];
  readonly windows: number;
  readonly windowMs: number;
  /** Calls at full speed before the first window, and for each worker process in addition. V8 compiles the hot code. */
  readonly warmUpCalls: number;
  readonly warmUpCallsPerWorker: number;
}

/** Processes of rows that do not vary them. */
export const usualGateways = 1;
export const usualWorkers = 2;

/** The same offered load in every row, calls a second. Two cores carry it with any number of processes. */
export const offered = { singlesPerSecond: 100, batchesPerSecond: 10 } as const;
export const batchRecords = 250;
/** One batch in five scores new leads, for which MongoDB is asked. */
export const newBatchEvery = 5;

const full: FleetSize = {
  name: 'full',
  organisations: 10_000,
  models: 1_000,
  activeModels: 200,
  hotLeads: 250,
  otherModels: 300,
  predictions: [10_000, 100_000, 1_000_000, 10_000_000],
  gateways: [1, 2, 4, 8],
  workers: [1, 2, 4, 8, 16],
  lanes: [1, 4, 16],
  windows: 3,
  windowMs: 5_000,
  warmUpCalls: 2_000,
  warmUpCallsPerWorker: 500,
};

const quick: FleetSize = {
  ...full,
  name: 'quick',
  organisations: 200,
  models: 20,
  activeModels: 20,
  otherModels: 120,
  predictions: [10_000, 100_000],
  gateways: [1, 4],
  workers: [2, 8],
  lanes: [1, 4],
  windows: 2,
  windowMs: 3_000,
  warmUpCalls: 500,
  warmUpCallsPerWorker: 200,
};

export const fleetSize = (isQuick: boolean): FleetSize => (isQuick ? quick : full);
