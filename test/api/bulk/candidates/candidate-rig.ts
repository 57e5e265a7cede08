import type { Redis } from 'ioredis';
import { WorkspaceCache } from '../../../../api/admission/workspace-cache.js';
import { type CandidateTurnDeps, CandidateTurns } from '../../../../api/bulk/candidates/candidate-turns.js';
import { followCandidates } from '../../../../api/bulk/candidates/follow-candidates.js';
import { ColdVersions } from '../../../../api/dispatch/cold-versions.js';
import { Dispatcher } from '../../../../api/dispatch/dispatcher.js';
import { LaneQueues } from '../../../../api/dispatch/lane-queues.js';
import { ReplyStream } from '../../../../api/dispatch/reply-stream.js';
import { type Repeated, repeatEvery } from '../../../../shared/async/repeat.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { requestComparison } from '../../../../shared/messages/grading-job.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { markBulkDemand } from '../../../../shared/redis/bulk-demand.js';
import { segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { JobStore } from '../../../../shared/store/jobs/jobs.js';
import { type CandidateRun, CandidateRunStore } from '../../../../shared/store/models/candidate-runs.js';
import type { CandidateSegment } from '../../../../shared/store/models/candidate-scores.js';
import { loadStoredManifest } from '../../../../shared/store/models/model-versions.js';
import { storeVersion } from '../../../../shared/store/models/store-version.js';
import { type RunningService, runningService } from '../../../support/service/service.js';
import type { TestWorkspace } from '../../../support/service/workspace.js';

const hourMs = 60 * 60_000;
const leaseMs = 30_000;

/** Rows of a call that is stored without a gateway. */
export interface StoredCall {
  readonly atMs: number;
  readonly version: string;
  readonly leads: readonly (string | null)[];
  /** The cells of each row by slot. */
  readonly fields: (row: number) => readonly unknown[];
}

/** The runs of candidates in this process, on a service with worker processes of bulk jobs and without a runner. */
export class CandidateRig {
  readonly runs: CandidateRunStore;
  /** Added to the clock of the runs, so that calls of this test are final. */
  aheadMs = hourMs;

  private constructor(
    readonly service: RunningService,
    private readonly deps: Omit<CandidateTurnDeps, 'stopping'>,
    private readonly parts: {
      readonly queues: LaneQueues;
      readonly replies: ReplyStream;
      readonly connections: readonly Redis[];
      readonly demand: Repeated;
    },
  ) {
    this.runs = new CandidateRunStore(service.stores.database);
  }

  static async start(): Promise<CandidateRig> {
    const service = await runningService({ environment: { BULK_WORKERS: '1', LANES: '1' } });
    const { database, organisations, models } = service.stores;
    const logger = createLogger('silent', 'test');
    const connections = [service.redis.duplicate(), service.redis.duplicate()] as const;
    const [jobs, blocking] = connections;
    const demand = repeatEvery(2_000, () => markBulkDemand(service.redis));
    await markBulkDemand(service.redis);
    const queues = new LaneQueues(jobs, 1, logger);
    await queues.start();
    const replies = new ReplyStream({ gatewayId: 'candidates', blocking, commands: jobs, logger });
    replies.start();
    const dispatcher = new Dispatcher({ gatewayId: 'candidates', queues, replies, coldVersions: new ColdVersions() });
    const clock = { now: () => service.clock.now() + rig.aheadMs };
    const rig: CandidateRig = new CandidateRig(
      service,
      {
        ...{ database, queues, dispatcher, clock, logger },
        jobs: new JobStore(database),
        workspaces: new WorkspaceCache({
          organisations,
          models,
          loadManifest: (modelId, version) => loadStoredManifest(database, modelId, version),
        }),
        requestTimeoutMs: 10_000,
        requestComparison: (candidate) => requestComparison(service.redis, candidate),
      },
      { queues, replies, connections, demand },
    );
    return rig;
  }

  async stop(): Promise<void> {
    const { queues, replies, connections, demand } = this.parts;
    await demand.stop();
    await replies.stop();
    await queues.close();
    for (const connection of connections) connection.disconnect();
    await this.service.stop();
  }

  /** @param changed replaces parts of the turns */
  turns(changed: Partial<CandidateTurnDeps> = {}): CandidateTurns {
    return new CandidateTurns({ ...this.deps, stopping: new AbortController().signal, ...changed });
  }

  get dispatcher(): CandidateTurnDeps['dispatcher'] {
    return this.deps.dispatcher;
  }

  /** As each runner does every five seconds. */
  follow(): Promise<readonly string[]> {
    const { database, clock, logger } = this.deps;
    return followCandidates({ database, clock, logger, leaseMs });
  }

  /** Stores a version without letting it score. */
  async store({ id: organisationId, model }: TestWorkspace, files: ReadonlyMap<string, Buffer>): Promise<void> {
    const { database } = this.deps;
    await storeVersion({ database, organisationId, modelId: model._id, bundle: checkBundle(files), now: new Date() });
  }

  async propose({ model }: TestWorkspace, version: string): Promise<void> {
    await this.service.stores.models.update(model._id, { candidate: { version, since: new Date(), by: 'a test' } });
  }

  /** Makes a version the candidate, and runs it to its end. */
  async run(own: TestWorkspace, version: string): Promise<CandidateRun> {
    await this.propose(own, version);
    await this.follow();
    await this.turns().take(own.model._id);
    return await this.runOf(own, version);
  }

  async runOf({ model }: TestWorkspace, version: string): Promise<CandidateRun> {
    const run = await this.runs.find(model._id, version);
    if (run === undefined) throw new Error(`version ${version} has no run`);
    return run;
  }

  /** The scores of a candidate, in the order of the predictions. */
  scores({ id: org, model: { _id: model } }: Pick<TestWorkspace, 'id' | 'model'>, version: string) {
    const collection = this.deps.database.collection<CandidateSegment>('candidate_scores');
    return collection.find({ org, model, version }).sort({ _id: 1 }).toArray();
  }

  record(own: TestWorkspace, call: StoredCall): Promise<string> {
    return recordCall(own, call);
  }
}

/** Stores a call as a gateway did at that time, without its ledger row. @returns its id */
export async function recordCall(own: TestWorkspace, { atMs, version, leads, fields }: StoredCall): Promise<string> {
  const { id: org, model, service } = own;
  // A generator of its own: one makes ascending ids, also for an earlier time.
  const callId = callIdGenerator()(atMs, org);
  const columns = {
    crmIds: leads,
    scores: leads.map(() => 50),
    likelihoods: leads.map(() => 5_000),
    fields: leads.map((_, row) => JSON.stringify(fields(row))),
  };
  const segments = segmentsOf({ callId, org, model: model._id, version, at: new Date(atMs), ...columns });
  await service.stores.predictions.insertMany(segments);
  return callId;
}
