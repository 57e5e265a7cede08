import { randomUUID } from 'node:crypto';
import { LatestScores } from '../shared/latest-scores/latest-scores.js';
import { leaseMsOf } from '../shared/quota/leases.js';
import { Quota } from '../shared/quota/quota.js';
import { CallVoids } from '../shared/quota/voids.js';
import { CallDocuments } from '../shared/store/calls/call-documents.js';
import { IdempotencyStore, type RecordedCall } from '../shared/store/calls/idempotency.js';
import { UsageLedger } from '../shared/store/calls/usage-ledger.js';
import { voidCall } from '../shared/store/calls/void-call.js';
import type { Db } from '../shared/store/connection/connect.js';
import { SliceStore } from '../shared/store/jobs/job-slices.js';
import { FieldDayStore } from '../shared/store/models/field-days.js';
import { Admission } from './admission/admission.js';
import { type AdmissionCaches, admissionCaches } from './admission/caches.js';
import { IdempotencyKeys } from './admission/idempotency.js';
import { Metering } from './admission/metering.js';
import { CallVoider } from './admission/void-calls.js';
import type { Connections, ScoringProcess } from './connections.js';
import { ColdVersions } from './dispatch/cold-versions.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { LaneQueues } from './dispatch/lane-queues.js';
import { ReplyStream } from './dispatch/reply-stream.js';
import { FieldDays } from './record/field-days.js';
import { Recorder } from './record/recorder.js';

/** The differences between the processes that score. */
export interface ScoringOptions {
  /** Undefined: each call reads its organisation, its model and its verdict, and so sees each change at once. */
  readonly caches: AdmissionCaches | undefined;
  /** Whether to sum up how the fields of live calls are read, by day. */
  readonly sumsFieldDays: boolean;
}

export type ScoringServices = Awaited<ReturnType<typeof startScoring>>;

/**
 * Makes the services of a scored call, for gateways, runners of bulk jobs, and the playground of a console. Starts
 * those that run in the background: queues, replies and, where they are wanted, the sums of fields.
 */
export async function startScoring(
  owner: ScoringProcess,
  connections: Connections,
  { caches, sumsFieldDays }: ScoringOptions,
) {
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
  return {
    ledger,
    idempotency,
    slices,
    recorder,
    fieldDays: sumsFieldDays ? startFieldDays(owner, fieldDayStore) : noFieldDays,
    fieldDayStore,
    latest,
    callVoider,
    admission: caches === undefined ? uncachedAdmission(owner, database) : new Admission({ ...caches, clock }),
    idempotencyKeys: new IdempotencyKeys({ redis: commands, store: idempotency, clock }),
    quotaCommands: quota.commands,
    metering: new Metering({ quota, clock, logger, callVoider }),
    queues,
    dispatcher,
  };
}

/** Admits each call with empty caches. */
function uncachedAdmission({ clock, logger }: ScoringProcess, database: Db): Pick<Admission, 'admit'> {
  return {
    admit: (call) => new Admission({ ...admissionCaches({ database, clock, logger }), clock }).admit(call),
  };
}

const noFieldDays: Pick<FieldDays, 'add'> = { add: () => undefined };

function startFieldDays({ config, logger, lifecycle }: ScoringProcess, store: FieldDayStore): Pick<FieldDays, 'add'> {
  const { timings, retentionDays } = config;
  return lifecycle.add(new FieldDays({ store, ...timings.daySums, retentionDays, logger }));
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
