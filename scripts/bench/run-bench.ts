import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type OnEnd, type RunEnd, stoppedAtEnd } from '../stack/run-to-end.js';
import { startBareService } from './bare-service.js';
import type { BenchOptions } from './bench-options.js';
import { coresUsed, jsonReport, readableReport } from './bench-report.js';
import { BenchRun } from './bench-run.js';
import { type BenchService, startBenchService } from './bench-service.js';
import { FloorScorer } from './floor-scorer.js';
import { HttpConnection } from './http-connection.js';
import { describeMachine, type Machine } from './machine.js';
import { MeasuringProcess } from './measuring-process.js';
import { nameProfiles, profiledProcesses, profileTables } from './profiling.js';
import { ProgressLines } from './progress-lines.js';
import { endpointOf, floorRow, type Scenario, scenarios } from './scenarios.js';
import { recordSourceOf } from './workload-records.js';

const workers = 2;

/**
 * Runs the benchmark and prints what it came to.
 * @throws Error when the service fails, or answers anything but what the floor computes
 */
export async function runBench(options: BenchOptions, ends: RunEnd): Promise<void> {
  const profileDirectory = await preparedDirectory(options.profileDirectory);
  process.stderr.write('starting Redis, MongoDB, a gateway and two workers\n');
  const service = await startBenchService({ ...options, workers, profileDirectory }, ends.onEnd);
  const machine = describeMachine({ ...service.versions, workers });
  const { scorer, generator, floor } = await measuringParts(options, service, ends.onEnd);
  const { chosen, skipped } = await chosenScenarios(options, service);
  const bare = chosen.some(({ target }) => target === 'bare')
    ? await startBareService({ ...options, workers }, ends.onEnd)
    : undefined;
  const profiled: string[] = [];
  const parts = {
    options,
    service,
    bare,
    generator,
    floor,
    scorer,
    chosen,
    measuresFloor: options.only.length === 0 || options.only.includes(floorRow),
    aroundWindow: async <Result>(scenario: Scenario, window: () => Promise<Result>): Promise<Result> => {
      if (profileDirectory === undefined || scenario.target === 'bare') return window();
      profiled.push(scenario.id);
      return await whileProfiled(service, window);
    },
  };
  const windows = BenchRun.windowCount(parts);
  const run = new BenchRun({ ...parts, progress: new ProgressLines(process.stderr, windows) });
  const outcome = await Promise.race([run.measureAll(), failed(service)]);
  const processes = profiledProcesses(service.groups);
  await ends.end();

  const othersCores = coresUsed(outcome.reports, (report) => report.othersCpuMs);
  const measuredOn: Machine = { ...machine, others_cores: Number(othersCores.toFixed(2)) };
  if (options.json) process.stdout.write(`${jsonReport(measuredOn, outcome.rows)}\n`);
  else process.stdout.write(readableReport(outcome, { machine: measuredOn, skipped }));
  if (profileDirectory !== undefined) {
    const profiles = await nameProfiles(profileDirectory, { windows: profiled, processes });
    process.stderr.write(await profileTables(profiles));
  }
}

async function preparedDirectory(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  await mkdir(path, { recursive: true });
  return resolve(path);
}

async function failed(service: BenchService): Promise<never> {
  throw new Error(await service.ended);
}

async function measuringParts(options: BenchOptions, service: BenchService, onEnd: OnEnd) {
  const { bundlePath } = options;
  const { gateway, modelId } = service;
  const source = recordSourceOf(options);
  const start = (name: Parameters<typeof MeasuringProcess.start>[0], address: typeof gateway | undefined) => {
    const load = { source, modelId, bundlePath, gateway: address };
    return stoppedAtEnd(onEnd, MeasuringProcess.start(name, load));
  };
  const [scorer, generator, floor] = await Promise.all([
    FloorScorer.load(bundlePath),
    start('load-generator', gateway),
    start('floor-process', undefined),
  ]);
  return { scorer, generator, floor };
}

/** The scenarios that were asked for, without those whose endpoint the gateway does not have. */
async function chosenScenarios({ only }: BenchOptions, { gateway }: BenchService) {
  const chosen: Scenario[] = [];
  const skipped: string[] = [];
  const connection = await HttpConnection.open(gateway);
  for (const scenario of scenarios) {
    if (only.length > 0 && !only.includes(scenario.id) && !only.includes(scenario.row)) continue;
    const endpoint = endpointOf[scenario.shape];
    const head = `POST ${endpoint} HTTP/1.1\r\nHost: ${gateway.host}\r\n`;
    const { status } = await connection.call(head, Buffer.alloc(0));
    if (status === 404) skipped.push(`${scenario.id}: the gateway has no ${endpoint}`);
    else chosen.push(scenario);
  }
  connection.close();
  return { chosen, skipped };
}

async function whileProfiled<Result>(service: BenchService, window: () => Promise<Result>): Promise<Result> {
  const pids = [...profiledProcesses(service.groups).values()];
  for (const pid of pids) process.kill(pid, 'SIGUSR2');
  try {
    return await window();
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGUSR2');
  }
}
