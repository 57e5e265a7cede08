import { randomUUID } from 'node:crypto';
import { type ActionContext, defineAction } from '../../shared/admin/action.js';
import { requireModel, verdictsOf } from '../../shared/admin/models/read-models.js';
import { playgroundInput, playgroundOutput } from '../../shared/admin/schemas/leads.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { Lifecycle } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { Quota } from '../../shared/quota/quota.js';
import { CallVoids } from '../../shared/quota/voids.js';
import { type Redis, redisNowMs } from '../../shared/redis/connect.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../shared/store/accounts/organisations.js';
import { CallDocuments } from '../../shared/store/calls/call-documents.js';
import { IdempotencyStore, type RecordedCall } from '../../shared/store/calls/idempotency.js';
import { UsageLedger } from '../../shared/store/calls/usage-ledger.js';
import { voidCall } from '../../shared/store/calls/void-call.js';
import { SliceStore } from '../../shared/store/jobs/job-slices.js';
import { loadStoredManifest } from '../../shared/store/models/model-versions.js';
import { ModelStore } from '../../shared/store/models/models.js';
import { Admission } from '../admission/admission.js';
import { WorkspaceCache } from '../admission/workspace-cache.js';
import { scoreReplyWriter } from '../call/score-reply.js';
import { answerInTime, type ScoringCall } from '../call/scoring-call.js';
import { ColdVersions } from '../dispatch/cold-versions.js';
import { Dispatcher } from '../dispatch/dispatcher.js';
import { LaneQueues } from '../dispatch/lane-queues.js';
import { ReplyStream } from '../dispatch/reply-stream.js';
import { IdempotencyKeys } from '../idempotency/idempotency.js';
import { Metering } from '../metering/metering.js';
import { CallVoider } from '../metering/void-calls.js';
import { Recorder } from '../record/recorder.js';
import { type ScoringDeps, scoreRecords } from '../score-records.js';

export interface PlaygroundOptions {
  readonly context: Pick<ActionContext, 'client' | 'database' | 'clock' | 'leaseMs'>;
  /** Quota and other commands. */
  readonly commands: Redis;
  /** Jobs for the workers. Their order matters, so this connection does not share writes. */
  readonly jobs: Redis;
  /** Blocks inside Redis until replies come. */
  readonly replyReader: Redis;
  /** Number of partitions of the queues. */
  readonly partitions: number;
  readonly timeoutMs: number;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
}

/** The id of the key under which the ledger counts the calls of the playground. */
const playgroundKeyId = 'key_playground';
const writeReply = scoreReplyWriter('conversion_likelihood');

/** The members of a score reply that the playground shows. */
interface PlaygroundReply {
  readonly model_version: string;
  readonly scores: readonly {
    readonly score: number;
    readonly conversion_likelihood: number;
    readonly drivers?: readonly {
      readonly field: string;
      readonly label: string;
      readonly value: string;
      readonly contribution: string;
      readonly direction: 'positive' | 'negative';
    }[];
    readonly warnings?: readonly string[];
    readonly [reason: `top_reason_${number}`]: string | null;
  }[];
  readonly usage: { readonly current: number; readonly limit: number };
}

/**
 * Starts the playground: the action that scores one record as a gateway does, with the workers of the installation. The
 * call counts in the test bucket, and its prediction is not recorded.
 */
export async function startPlayground(options: PlaygroundOptions) {
  const { timeoutMs, commands } = options;
  const services = await startScoring(options);
  const newCallId = callIdGenerator();
  return defineAction({
    name: 'playground.score',
    description: 'Score one record with reasons. It counts in the test bucket, and its prediction is not recorded.',
    role: 'admin',
    effect: 'read',
    input: playgroundInput,
    output: playgroundOutput,
    async run(context, { org_id: organisationId, model_id: modelId, fields }) {
      await requireModel(context, { org_id: organisationId, model_id: modelId });
      const atMs = context.clock.now();
      const arrivedRedisMs = await redisNowMs(commands);
      const call: ScoringCall = {
        ...{ id: newCallId(atMs, organisationId), requestId: context.requestId, modelId, atMs },
        apiKey: keyOf(organisationId),
        bucket: 'test',
        records: [{ crmId: null, fields }],
        nameOfRecord: () => 'fields',
        explain: true,
        lane: 'singles',
        idempotency: undefined,
        deadline: {
          monotonicMs: performance.now() + timeoutMs,
          redisMs: arrivedRedisMs + timeoutMs,
          arrivedRedisMs,
        },
        hasHungUp: () => false,
      };
      const scoring = { ...services, admission: admissionOf(context) };
      const reply = await answerInTime(call, () => scoreRecords(call, writeReply, scoring));
      return await documentOf(context, modelId, JSON.parse(reply.body) as PlaygroundReply);
    },
  });
}

async function documentOf(
  { database }: ActionContext,
  modelId: string,
  { model_version: version, scores, usage }: PlaygroundReply,
) {
  const [row] = scores;
  if (row === undefined) throw new Error('the reply has no score');
  const stored = await loadStoredManifest(database, modelId, version);
  return {
    score: row.score,
    conversion_likelihood: row.conversion_likelihood,
    base_rate: stored?.manifest.validation?.base_rate ?? null,
    explain_method: stored?.explainMethod ?? 'occlusion',
    drivers: (row.drivers ?? []).map((driver) => ({ ...driver, contribution: Number(driver.contribution) })),
    reasons: [row.top_reason_1, row.top_reason_2, row.top_reason_3].filter((reason) => typeof reason === 'string'),
    warnings: row.warnings ?? [],
    usage: { current: usage.current, limit: usage.limit },
  };
}

const keyOf = (organisationId: string): ApiKey => ({
  _id: playgroundKeyId,
  hash: '',
  organisation_id: organisationId,
  kind: 'test',
  name: 'Playground',
  rate_per_second: 1,
  created_at: new Date(0),
});

/** Without caches: a change is seen at once, also one that another process has made. */
function admissionOf({ database, clock }: ActionContext): Admission {
  const workspaces = new WorkspaceCache({
    organisations: new OrganisationStore(database),
    models: new ModelStore(database),
    loadManifest: (modelId, version) => loadStoredManifest(database, modelId, version),
  });
  return new Admission({ workspaces, verdicts: verdictsOf({ database, clock }), clock });
}

/** The services of a scoring call, as the gateway composes them. */
async function startScoring(options: PlaygroundOptions): Promise<Omit<ScoringDeps, 'admission'>> {
  const { context, commands, jobs, replyReader, partitions, logger, lifecycle } = options;
  const { client, database, clock, leaseMs } = context;
  const ledger = new UsageLedger(database, clock);
  const idempotency = new IdempotencyStore(database);
  const quota = new Quota({ redis: commands, ledger, leaseMs, clock });
  const voidInLedger = (call: RecordedCall) =>
    voidCall(call, { client, ledger, idempotency, slices: new SliceStore(database) });
  const voids = new CallVoids({ redis: commands, quota, latest: new LatestScores(commands), voidInLedger });
  const callVoider = new CallVoider({ voids, logger });
  lifecycle.onStop('call voider', () => callVoider.stop());
  const queues = new LaneQueues(jobs, partitions, logger);
  await queues.start();
  lifecycle.onStop('lanes', () => queues.close());
  const gatewayId = randomUUID();
  const replies = new ReplyStream({ gatewayId, blocking: replyReader, commands: jobs, logger });
  replies.start();
  lifecycle.onStop('replies', () => replies.stop());
  return {
    dispatcher: new Dispatcher({ gatewayId, queues, replies, coldVersions: new ColdVersions() }),
    metering: new Metering({ quota, clock, logger, callVoider }),
    recorder: new Recorder({ client, calls: new CallDocuments(database), ledger, idempotency }),
    idempotencyKeys: new IdempotencyKeys({ redis: commands, store: idempotency, clock }),
    // Calls of test keys are not summed up.
    fieldDays: { add: () => undefined },
  };
}
