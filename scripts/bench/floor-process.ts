/**
 * The process that measures the floor: batches of the same records, one after the other, through the service's own code.
 * Talks `load-messages.ts` with the benchmark over the process channel.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerRequests } from './answer-requests.js';
import { FloorScorer } from './floor-scorer.js';
import type { LoadPlan, LoadReport, Preparation } from './load-messages.js';
import { type BodySource, RequestBodies } from './request-bodies.js';
import { WindowMeter } from './window-meter.js';
import { knownCrmIds, workloadRecords } from './workload-records.js';

interface Prepared {
  readonly bodies: BodySource;
  readonly scorer: FloorScorer;
}

async function prepare({ source, modelId, bundlePath }: Preparation): Promise<Prepared> {
  const records = await workloadRecords(source);
  const bodies = new RequestBodies({ modelId, records, crmIds: knownCrmIds() });
  return {
    scorer: await FloorScorer.load(bundlePath),
    bodies: bodies.source({ shape: 'batch', leads: 'known' }),
  };
}

async function run(plan: LoadPlan, { bodies, scorer }: Prepared): Promise<LoadReport> {
  const meter = new WindowMeter({ floor: [process.pid] });
  const calls = async () => {
    while (!meter.isOver) {
      const dueMs = performance.now();
      const reply = Buffer.from(await scorer.answer(bodies.next().toString('utf8'), Date.now()));
      if (reply.length === 0) throw new Error('the floor answered nothing');
      meter.answered({ dueMs, records: bodies.recordsPerCall });
      await nextTurn();
    }
  };
  return await meter.measure(plan, calls());
}

answerRequests({ prepare, run, introduce: async () => undefined });
