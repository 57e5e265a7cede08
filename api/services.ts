import { randomUUID } from 'node:crypto';
import { LatestScores } from '../shared/latest-scores/latest-scores.js';
import { leaseMsOf } from '../shared/quota/leases.js';
import { Quota } from '../shared/quota/quota.js';
import { CallVoids } from '../shared/quota/voids.js';
import { CallDocuments } from '../shared/store/calls/call-documents.js';
import { IdempotencyStore, type RecordedCall } from '../shared/store/calls/idempotency.js';
import { UsageLedger } from '../shared/store/calls/usage-ledger.js';
import { voidCall } from '../shared/store/calls/void-call.js';
import { SliceStore } from '../shared/store/jobs/job-slices.js';
import { FieldDayStore } from '../shared/store/models/field-days.js';
import type { ModelVerdicts } from '../shared/store/validation/model-verdicts.js';
import { Admission } from './admission/admission.js';
import type { WorkspaceCache } from './admission/workspace-cache.js';
import type { Connections, ScoringProcess } from './connections.js';
import { ColdVersions } from './dispatch/cold-versions.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { LaneQueues } from './dispatch/lane-queues.js';
import { ReplyStream } from './dispatch/reply-stream.js';
import { Metering } from './metering/metering.js';
import { CallVoider } from './metering/void-calls.js';
import { FieldDays } from './record/field-days.js';
import { Recorder } from './record/recorder.js';

/** The caches that admission reads. */
export interface AdmissionCaches {
  readonly workspaces: WorkspaceCache;
  readonly verdicts: ModelVerdicts;
}

export type ScoringServices = Awaited<ReturnType<typeof startScoring>>;

/**
 * Makes the services of a scored call, for gateways and for runners of bulk jobs. Starts those that run in the
 * background: queues and replies.
 */
export async function startScoring(owner: ScoringProcess, connections: Connections, caches: AdmissionCaches) {
  const { config, logger, lifecycle, clock } = owner;
  const { commands, mongo } = connections;
  const { client, database } = mongo;
  const ledger = new UsageLedger(database, clock);
  const idempotency = new IdempotencyStore(database);
  const slices = new SliceStore(database);
  const recorder = new Recorder({ client, calls: new CallDocuments(database), ledger, idempotency });
  const quota = new Quota({ redis: commands, ledger, leaseMs: leaseMsOf(config), clock });
  const latest = new LatestScores(commands);
  const voidInLedger = (call: RecordedCall) => voidCall(call, { client, ledger, idempotency, slices });
  const callVoider = new CallVoider({ voids: new CallVoids({ redis: commands, quota, latest, voidInLedger }), logger });
  lifecycle.onStop('call voider', () => callVoider.stop());
  const { queues, dispatcher } = await startDispatcher(owner, connections);
  const fieldDayStore = new FieldDayStore(database);
  const fieldDays = new FieldDays({
    store: fieldDayStore,
    ...config.timings.fieldDays,
    retentionDays: config.retentionDays,
    logger,
  });
  lifecycle.add(fieldDays);
  return {
    ledger,
    idempotency,
    slices,
    recorder,
    fieldDays,
    fieldDayStore,
    latest,
    callVoider,
    admission: new Admission({ ...caches, clock }),
    quotaCommands: quota.commands,
    metering: new Metering({ quota, clock, logger, callVoider }),
    queues,
    dispatcher,
  };
}

async function startDispatcher({ config, logger, lifecycle }: ScoringProcess, { jobs, replyReader }: Connections) {
  const gatewayId = randomUUID();
  const queues = new LaneQueues(jobs, config.partitions, logger);
  await queues.start();
  lifecycle.onStop('lanes', () => queues.close());
  const replies = new ReplyStream({ gatewayId, blocking: replyReader, commands: jobs, logger });
  replies.start();
  lifecycle.onStop('replies', () => replies.stop());
  return { queues, dispatcher: new Dispatcher({ gatewayId, queues, replies, coldVersions: new ColdVersions() }) };
}
