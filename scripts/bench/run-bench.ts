import { type RunEnd, stoppedAtEnd } from '../servers/run-to-end.js';
import type { BenchOptions } from './bench-options.js';
import { BenchRun } from './bench-run.js';
import { FloorScorer } from './load/floor-scorer.js';
import { MeasuringProcess } from './load/measuring-process.js';
import { recordSourceOf } from './load/request-bodies.js';
import { describeMachine, jsonReport, readableReport } from './report/bench-report.js';
import { ProgressLines } from './report/progress-lines.js';
import { scenarios } from './scenarios.js';
import { startBareService } from './service/bare-service.js';
import { startBenchService, workers } from './service/bench-service.js';

/**
 * Runs the benchmark and prints its report.
 * @throws Error if the service fails or answers with other scores than the floor
 */
export async function runBench(options: BenchOptions, { onEnd, end }: RunEnd): Promise<void> {
  const { bundlePath, only, repeats, profileDirectory } = options;
  process.stderr.write('starting Redis, MongoDB, a gateway and two workers\n');
  const service = await startBenchService({ bundlePath, profileDirectory }, onEnd);
  const machine = describeMachine(service.versions, workers);
  const { gateway, modelId } = service;
  const preparation = { source: recordSourceOf(options), modelId, bundlePath };
  const [scorer, generator, floor] = await Promise.all([
    FloorScorer.load(bundlePath),
    stoppedAtEnd(onEnd, MeasuringProcess.start({ ...preparation, gateway })),
    stoppedAtEnd(onEnd, MeasuringProcess.start({ ...preparation, gateway: undefined })),
  ]);
  const chosen = scenarios.filter(({ id, row }) => only.length === 0 || only.includes(id) || only.includes(row));
  const needsBare = chosen.some(({ target }) => target === 'bare');
  const bare = needsBare ? await startBareService(bundlePath, onEnd) : undefined;
  const progress = new ProgressLines(process.stderr, repeats * chosen.length);
  const run = new BenchRun({ options, service, bare, generator, floor, scorer, chosen, progress });
  const outcome = await Promise.race([run.measureAll(), failure(service.ended)]);
  await end();

  if (options.json) process.stdout.write(`${jsonReport(outcome, machine)}\n`);
  else process.stdout.write(readableReport(outcome, machine));
}

async function failure(ended: Promise<string>): Promise<never> {
  throw new Error(await ended);
}
