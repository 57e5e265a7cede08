import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../../shared/contract/errors.js';
import { checkReply } from './check-replies.js';
import { FloorScorer } from './floor-scorer.js';
import { callHead, HttpConnection } from './http-connection.js';
import { runLoad } from './load-run.js';
import type { Answer, GatewayAddress, LoadPlan, LoadReport, Preparation, Request } from './messages.js';
import { batchRecords, RequestBodies } from './request-bodies.js';
import { WindowMeter } from './window-meter.js';

/**
 * Child process that makes the load, or measures the floor if it is given no gateway. Its own CPU time is not counted
 * as the service's. Exchanges `messages.ts` with the benchmark.
 */

type Run = (plan: LoadPlan) => Promise<LoadReport>;

async function prepare({ source, modelId, bundlePath, gateway }: Preparation): Promise<Run> {
  const bodies = await RequestBodies.from(source, modelId);
  if (gateway === undefined) {
    const scorer = await FloorScorer.load(bundlePath);
    return (plan) => runFloor(plan, scorer, bodies);
  }
  await introduce(gateway, bodies);
  return (plan) => runLoad(plan, bodies.source(plan));
}

/** Scores every known lead once, so that each has a previous score. */
async function introduce(gateway: GatewayAddress, bodies: RequestBodies): Promise<void> {
  const connection = await HttpConnection.open(gateway);
  const head = callHead(gateway, 'batch', gateway.secrets[0]);
  for (const body of bodies.ofKnownLeads('batch'))
    checkReply(await connection.call(head, body), { shape: 'batch', records: batchRecords });
  connection.close();
}

/** Scores batches one after the other in this process. */
async function runFloor(plan: LoadPlan, scorer: FloorScorer, bodies: RequestBodies): Promise<LoadReport> {
  const source = bodies.source(plan);
  const meter = new WindowMeter({ floor: [process.pid] });
  const calls = async () => {
    while (!meter.isOver) {
      const dueMs = performance.now();
      const reply = Buffer.from(await scorer.answer(source.next().toString('utf8'), Date.now()));
      if (reply.length === 0) throw new Error('the floor answered with an empty reply');
      meter.answered({ dueMs, records: source.recordsPerCall });
      await nextTurn();
    }
  };
  return await meter.measure(plan, calls());
}

let run: Run | undefined;

async function answer(request: Request): Promise<Answer> {
  if ('load' in request) {
    if (run === undefined) throw new Error('a plan came before the preparation');
    return { report: await run(request) };
  }
  run = await prepare(request);
  return {};
}

process.on('message', (message) => {
  answer(message as Request)
    .catch((error: unknown): Answer => ({ failure: messageOf(error) }))
    .then((reply) => process.send?.(reply));
});
process.on('disconnect', () => process.exit(0));
// Ctrl-C signals the whole process group; the benchmark stops this process itself.
process.on('SIGINT', () => undefined);
