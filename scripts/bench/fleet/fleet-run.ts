import { rm } from 'node:fs/promises';
import { type OnEnd, stoppedAtEnd, temporaryDirectory } from '../../servers/run-to-end.js';
import { coldOrganisations, type FleetOrganisation } from './fleet-accounts.js';
import { FleetCalls } from './fleet-calls.js';
import { bundleReads, type LeadMemory, leadMemoryOf } from './fleet-counts.js';
import type { FleetData } from './fleet-data.js';
import { FleetCaller, measureWindow, type Rates, sendAll, type Window } from './fleet-load.js';
import { type FleetService, startFleetService, type Topology } from './fleet-service.js';
import { type FleetSize, offered, usualGateways, usualWorkers } from './fleet-size.js';
import type { FleetFigures, FleetRow, FleetTable } from './fleet-tables.js';

interface RunDeps {
  readonly size: FleetSize;
  readonly mongod: { readonly url: string; readonly pid: number };
  /** In the order of `size.predictions`. */
  readonly data: readonly FleetData[];
  readonly say: (line: string) => void;
  readonly onEnd: OnEnd;
}

/** A running service with its callers. */
interface Stage {
  readonly service: FleetService;
  readonly caller: FleetCaller;
  readonly data: FleetData;
}

const usual: Topology = { gateways: usualGateways, workers: usualWorkers };
const primingCallers = 6;
/** Models that score the same leads in turn, in two sets without a common one. */
const rotations = { few: 4, many: 100 } as const;
const batchRates: Rates = { singlesPerSecond: 0, batchesPerSecond: 10 };
/** Singles have half as many processes, of which each holds a part of the models. */
const cacheWorkers = 8;
const cacheRates: Rates = { singlesPerSecond: 20, batchesPerSecond: 0 };
const cacheLanes = 16;
/** Processes of the rows with a partition for each. They hold nearly all models of a fleet. */
const manyWorkers = 16;

/** Measures the rows of a fleet one after the other. */
export class FleetRun {
  private readonly rows: FleetRow[] = [];
  private leadMemory: LeadMemory | undefined;
  private cache: FleetFigures['cache'];

  constructor(private readonly deps: RunDeps) {}

  /**
   * @param names some of `fleetTables`
   * @throws Error if the service fails, answers wrongly or is too slow for the load
   */
  async measure(names: readonly FleetTable[]): Promise<FleetFigures> {
    for (const name of names) await this.measureTable(name);
    return { rows: this.rows, leadMemory: this.leadMemory, cache: this.cache };
  }

  private async measureTable(name: FleetTable): Promise<void> {
    const { size, data } = this.deps;
    const main = data.at(-1);
    if (main === undefined) throw new Error('a fleet needs a database');
    const onCacheLanes = { ...usual, workers: cacheWorkers };
    switch (name) {
      case 'fleet-beside-one':
        return this.onStage(main, usual, (stage) => this.compareWithOne(stage));
      case 'fleet-cold':
        return this.onStage(main, usual, (stage) => this.compareCold(stage));
      case 'fleet-rotation':
        return this.onStage(main, usual, (stage) => this.compareRotations(stage));
      case 'fleet-gateways':
        for (const gateways of size.gateways) await this.vary('gateways', gateways, { ...usual, gateways });
        return;
      case 'fleet-workers':
        for (const workers of size.workers) await this.vary('worker processes', workers, { ...usual, workers });
        return;
      case 'fleet-partitions':
        for (const lanes of size.lanes) await this.vary('partitions', lanes, { ...onCacheLanes, lanes });
        return;
      case 'fleet-hot':
        for (const lanes of [1, cacheLanes])
          await this.vary('partitions of one model', lanes, { ...usual, workers: manyWorkers, lanes }, main, 1);
        return;
      case 'fleet-active':
        return this.onStage(main, { ...usual, workers: manyWorkers, lanes: cacheLanes }, (stage) =>
          this.compareActive(stage),
        );
      case 'fleet-stored':
        for (const [index, predictions] of size.predictions.entries())
          await this.vary('stored predictions', predictions, usual, data[index]);
        return;
      case 'fleet-cache':
        return this.onStage(main, { ...onCacheLanes, lanes: cacheLanes }, (stage) => this.countLoads(stage));
    }
  }

  private async onStage(data: FleetData, topology: Topology, work: (stage: Stage) => Promise<void>): Promise<void> {
    const { mongod, say, onEnd } = this.deps;
    const directory = await temporaryDirectory(onEnd, 'fleet');
    say(`starting ${topology.gateways} gateways and ${topology.workers} worker processes on ${data.name}`);
    const starting = startFleetService({ directory, mongod, databaseName: data.name, topology });
    // Also when the run is interrupted, and before mongod stops.
    const service = await stoppedAtEnd(onEnd, starting);
    const caller = new FleetCaller(service);
    const failure = service.ended.then((how) => {
      throw new Error(how);
    });
    failure.catch(() => undefined);
    try {
      await Promise.race([work({ service, caller, data }), failure]);
    } finally {
      caller.close();
      await service.stop();
      await rm(directory, { recursive: true, force: true });
    }
  }

  private async vary(
    table: string,
    value: number,
    topology: Topology,
    data = this.deps.data.at(-1),
    called = this.deps.size.activeModels,
  ): Promise<void> {
    if (data === undefined) throw new Error(`no database for ${table} ${value}`);
    await this.onStage(data, topology, async (stage) => {
      const calls = this.fleetCalls(data, called);
      await this.prime(stage, [calls], topology.workers);
      await this.windows([{ table, label: String(value), stage, calls, rates: offered }]);
    });
  }

  /** The fleet and one organisation with one model, in turn. Both have as many hot leads. */
  private async compareWithOne(stage: Stage): Promise<void> {
    const { data } = stage;
    const { activeModels, hotLeads } = this.deps.size;
    const fleet = this.fleetCalls(data, activeModels);
    const organisations = data.organisations.slice(0, 1);
    const one = new FleetCalls({ organisations, modelAt: 0, hotLeads: hotLeads * activeModels });
    await this.prime(stage, [one, fleet], usual.workers);
    const table = 'fleet beside one organisation';
    await this.windows([
      { table, label: 'one organisation, one model', stage, calls: one, rates: offered },
      { table, label: 'fleet', stage, calls: fleet, rates: offered },
    ]);
    this.leadMemory = await leadMemoryOf(stage.service.redisUrl);
  }

  /** Batches of new leads for two organisations in turn, one of which has many other models. */
  private async compareCold(stage: Stage): Promise<void> {
    const { organisations } = stage.data;
    const { size } = this.deps;
    const [alone, among] = coldOrganisations(size).map((number) => {
      const organisation = organisations[number] as FleetOrganisation;
      return new FleetCalls({ organisations: [organisation], modelAt: 0, hotLeads: 0 });
    }) as [FleetCalls, FleetCalls];
    await this.warmUp(stage, [alone, among], usual.workers);
    const row = { table: 'cold batches', stage, rates: batchRates, newLeads: true };
    await this.windows([
      { ...row, label: 'no other models', calls: alone },
      { ...row, label: `${size.otherModels} other models`, calls: among },
    ]);
  }

  /**
   * Batches of known leads, which four models score in turn, or a hundred. Redis has the scores of the last three. All
   * leads have equally many scores.
   */
  private async compareRotations(stage: Stage): Promise<void> {
    const { hotLeads } = this.deps.size;
    const [, among] = coldOrganisations(this.deps.size);
    const called = { organisations: [stage.data.organisations[among] as FleetOrganisation], hotLeads };
    const few = new FleetCalls({ ...called, modelAt: 0, inTurn: rotations.few });
    const many = new FleetCalls({ ...called, modelAt: rotations.few, inTurn: rotations.many, firstLead: hotLeads });
    for (let round = 0; round < rotations.many; round += 1)
      for (const calls of [few, many]) for (const call of calls.everyHotLead()) await stage.caller.send(call);
    await this.warmUp(stage, [few, many], usual.workers);
    const row = { table: 'rotation', stage, rates: batchRates };
    await this.windows([
      { ...row, label: `${rotations.few} models in turn`, calls: few },
      { ...row, label: `${rotations.many} models in turn`, calls: many },
    ]);
  }

  /** Calls large models at random, of which each process holds a part, and counts how often one is loaded. */
  private async countLoads(stage: Stage): Promise<void> {
    const { service, caller, data } = stage;
    const { activeModels, windowMs, windows } = this.deps.size;
    const organisations = data.organisations.slice(0, activeModels);
    const calls = new FleetCalls({ organisations, modelAt: -1, hotLeads: 1 });
    this.deps.say('cache hits: calling each large model');
    const atStartReads = await bundleReads(data);
    await sendAll(
      [...calls.everyHotLead()].map((call) => () => caller.send(call)),
      1,
    );
    const before = await bundleReads(data);
    const readsPerLoad = (before - atStartReads) / organisations.length;
    const window = await measureWindow({ service, caller }, { calls, rates: cacheRates, windowMs: windows * windowMs });
    this.cache = { calls: window.calls, loads: ((await bundleReads(data)) - before) / readsPerLoad };
  }

  /** All large models of the fleet, of which each process holds a part, beside one of them. */
  private async compareActive(stage: Stage): Promise<void> {
    const { models } = this.deps.size;
    const [one, all] = [1, models].map((called) => this.fleetCalls(stage.data, called, -1)) as [FleetCalls, FleetCalls];
    await this.prime(stage, [one, all], manyWorkers);
    const row = { table: 'large models', stage, rates: batchRates };
    await this.windows([
      { ...row, label: '1', calls: one },
      { ...row, label: String(models), calls: all },
    ]);
  }

  /** @param called organisations with a model. @param modelAt as in `Called` */
  private fleetCalls(data: FleetData, called: number, modelAt = 0): FleetCalls {
    return new FleetCalls({
      organisations: data.organisations.slice(0, called),
      modelAt,
      hotLeads: this.deps.size.hotLeads,
    });
  }

  /** Every organisation gets a counter, and every hot lead a previous score. */
  private async prime(
    { caller, data, ...stage }: Stage,
    called: readonly FleetCalls[],
    workers: number,
  ): Promise<void> {
    await sendAll(
      data.organisations.map(
        ({ secret }) =>
          () =>
            caller.readUsage(secret),
      ),
      primingCallers,
    );
    for (const calls of called)
      await sendAll(
        [...calls.everyHotLead()].map((call) => () => caller.send(call)),
        primingCallers,
      );
    await this.warmUp({ caller, data, ...stage }, called, workers);
  }

  /** Calls at full speed, so that V8 compiles the hot code of every process. */
  private async warmUp({ caller }: Stage, called: readonly FleetCalls[], workers: number): Promise<void> {
    const { warmUpCalls, warmUpCallsPerWorker } = this.deps.size;
    const isCold = called.some((calls) => calls.isCold);
    // All calls of cold organisations are batches: fewer of them compile the same code.
    const count = (warmUpCalls + workers * warmUpCallsPerWorker) / (isCold ? 10 : 1);
    function* mixed(): Generator<() => Promise<void>> {
      for (let call = 0; call < count; call += 1) {
        const calls = called[call % called.length];
        if (calls === undefined) return;
        const isBatch = call % 16 < called.length;
        yield () => caller.send(isBatch || isCold ? calls.batch() : calls.single());
      }
    }
    await sendAll(mixed(), 2 * primingCallers);
  }

  private async windows(
    planned: readonly {
      readonly table: string;
      readonly label: string;
      readonly stage: Stage;
      readonly calls: FleetCalls;
      readonly rates: Rates;
      readonly newLeads?: boolean;
    }[],
  ): Promise<void> {
    const { size, say } = this.deps;
    const measured = planned.map((): Window[] => []);
    for (let window = 0; window < size.windows; window += 1)
      for (const [index, { stage, ...load }] of planned.entries())
        measured[index]?.push(await measureWindow(stage, { ...load, windowMs: size.windowMs }));
    for (const [index, { table, label }] of planned.entries()) {
      const row = { table, label, windows: measured[index] ?? [] };
      this.rows.push(row);
      say(`${table}: ${label}`);
    }
  }
}
