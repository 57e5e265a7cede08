import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { PlanName } from '../../../shared/contract/plans.js';
import { monthOf } from '../../../shared/process/clock.js';
import { publishChange } from '../../../shared/redis/changes.js';
import { type UsageBucket, type UsageCounter, usageKey } from '../../../shared/redis/keys.js';
import type {
  DeployPolicy,
  Organisation,
  OrganisationFields,
} from '../../../shared/store/accounts/organisations.js';
import { sliceColumns } from '../../../shared/store/calls/prediction-slice.js';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';
import type { Model } from '../../../shared/store/models/models.js';
import { storeVersion } from '../../../shared/store/models/store-version.js';
import { type HttpCall, type HttpReply, httpCall } from '../http/http-call.js';
import { type PredictionRow, predictionRows } from './prediction-rows.js';
import type { RunningService } from './service.js';
import {
  createKey,
  createModel,
  type GivenVerdict,
  type ModelOptions,
  storeVerdict,
  type UsableKey,
} from './workspace-parts.js';

export interface WorkspaceOptions extends ModelOptions {
  readonly plan?: PlanName;
  /** Included records a month; the plan's by default. */
  readonly limit?: number;
  readonly policy?: DeployPolicy;
  readonly trialEndsAt?: Date;
  /** Calls a second of both keys; so many by default that no test meets the limit without asking for it. */
  readonly rate?: number;
}

/** How to make a call. */
export interface CallOptions {
  /** The live key by default; null sends none. */
  readonly key?: UsableKey | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The gateway to call; each in turn by default. */
  readonly gateway?: number;
  /** The address to call instead, of a gateway that was started beside. */
  readonly url?: string | undefined;
}

export interface ScoreOptions extends CallOptions {
  /** The workspace's first model by default. */
  readonly modelId?: string;
  readonly explain?: boolean;
}

export type SentRecord = Readonly<Record<string, unknown>>;

const unlimitedRate = 1_000_000;

/**
 * Makes a fresh organisation with a live key, a test key and a model; on plan `pro` with policy `warn` unless told
 * otherwise. Nothing of it is shared with another test.
 */
export async function workspace(
  service: RunningService,
  options: WorkspaceOptions = {},
): Promise<TestWorkspace> {
  const { plan = 'pro', policy = 'warn', limit, trialEndsAt, rate = unlimitedRate } = options;
  const now = new Date(service.clock.now());
  const fields: OrganisationFields = {
    name: 'An organisation of a test',
    plan,
    policy,
    ...(limit === undefined ? {} : { limit }),
    ...(trialEndsAt === undefined ? {} : { trial_ends_at: trialEndsAt }),
  };
  const organisation = await service.stores.organisations.create(fields, now);
  const [live, test, model] = await Promise.all([
    createKey(service, organisation._id, { kind: 'live', rate }),
    createKey(service, organisation._id, { kind: 'test', rate }),
    createModel(service, organisation._id, options),
  ]);
  return new TestWorkspace(service, organisation, { live, test, model });
}

/** One organisation of a running service: what it can call, what can be done to it, and what is stored of it. */
export class TestWorkspace {
  readonly id: string;
  readonly live: UsableKey;
  readonly test: UsableKey;
  readonly model: Model;

  constructor(
    readonly service: RunningService,
    organisation: Organisation,
    has: { readonly live: UsableKey; readonly test: UsableKey; readonly model: Model },
  ) {
    this.id = organisation._id;
    this.live = has.live;
    this.test = has.test;
    this.model = has.model;
  }

  /** `POST /v1/score` of some records. */
  score(records: readonly SentRecord[], options: ScoreOptions = {}): Promise<HttpReply> {
    const { modelId = this.model._id, explain } = options;
    return this.post({ model_id: modelId, records, ...(explain === undefined ? {} : { explain }) }, options);
  }

  /** `POST /v1/score` of any body: a text as it is, anything else as JSON. */
  post(body: unknown, options: CallOptions = {}): Promise<HttpReply> {
    return this.call('/v1/score', { ...options, method: 'POST', body });
  }

  /**
   * Any call to the service.
   * @param path with its query
   * @param options `method` is POST where there is a body, else GET, unless it says otherwise
   */
  call(path: string, options: CallOptions & Pick<HttpCall, 'method' | 'body'> = {}): Promise<HttpReply> {
    const { key = this.live, gateway, url = this.service.url(gateway), body, headers } = options;
    const { method = body === undefined ? 'GET' : 'POST' } = options;
    return httpCall(`${url}${path}`, { method, secret: key?.secret, body, headers });
  }

  /** Adds a model. The service knows it from the organisation's first call on, or within seconds. */
  addModel(options: ModelOptions = {}): Promise<Model> {
    return createModel(this.service, this.id, options);
  }

  addKey(kind: UsageBucket, { rate = unlimitedRate }: { readonly rate?: number } = {}): Promise<UsableKey> {
    return createKey(this.service, this.id, { kind, rate });
  }

  /** Changes the organisation and tells the service, as the operator's command does. */
  async change(fields: Partial<OrganisationFields>): Promise<void> {
    const { stores, redis } = this.service;
    await stores.organisations.update(this.id, fields);
    await publishChange(redis, { kind: 'organisation', id: this.id });
  }

  /** Changes a model and tells the service. */
  async changeModel(
    modelId: string,
    fields: Parameters<RunningService['stores']['models']['update']>[1],
  ): Promise<void> {
    const { stores, redis } = this.service;
    await stores.models.update(modelId, fields);
    await publishChange(redis, { kind: 'model', id: modelId });
  }

  /** Adds a version to the workspace's first model, and makes it the one that scores. */
  async addVersion(files: ReadonlyMap<string, Buffer>): Promise<void> {
    const { stores, clock } = this.service;
    const bundle = checkBundle(files);
    const now = new Date(clock.now());
    await storeVersion({
      database: stores.database,
      organisationId: this.id,
      modelId: this.model._id,
      bundle,
      now,
    });
    await this.changeModel(this.model._id, { version: bundle.manifest.version });
  }

  /** Stores a verdict on a model's current version and tells the service. */
  async grade(model: Model, verdict: GivenVerdict): Promise<void> {
    await storeVerdict(this.service, model, verdict);
    await publishChange(this.service.redis, { kind: 'validation', id: model._id });
  }

  /** Revokes a key and tells the service. */
  async revoke({ key }: UsableKey): Promise<void> {
    const { stores, redis, clock } = this.service;
    await stores.keys.revoke(key._id, new Date(clock.now()));
    await publishChange(redis, { kind: 'key', id: key.hash });
  }

  /** The counter of this month. */
  counter(bucket: UsageBucket = 'live'): UsageCounter {
    return { organisationId: this.id, bucket, month: monthOf(this.service.clock.now()) };
  }

  /** Records of this month by the ledger, the truth of metering. */
  ledgerSum(bucket: UsageBucket = 'live'): Promise<number> {
    return this.service.stores.ledger.sum(this.counter(bucket));
  }

  /** Every counted call, oldest first, without its predictions. */
  ledgerRows(): Promise<LedgerRow[]> {
    const projection = Object.fromEntries(Object.keys(sliceColumns).map((name) => [name, 0]));
    return this.service.stores.ledgerRows
      .find({ org: this.id, bucket: { $exists: true } }, { projection })
      .sort({ _id: 1 })
      .toArray();
  }

  /** Every recorded prediction, oldest first. */
  async predictions(): Promise<PredictionRow[]> {
    const slices = await this.service.stores.predictions
      .find({ org: this.id, scores: { $exists: true } })
      .sort({ _id: 1 })
      .toArray();
    return slices.flatMap(predictionRows);
  }

  /** What Redis counts this month: records used, and held by calls under way. Zero where it knows nothing yet. */
  async redisUsage(bucket: UsageBucket = 'live'): Promise<{ used: number; leased: number }> {
    const [used, leased] = await this.service.redis.hmget(usageKey(this.counter(bucket)), 'used', 'leased');
    return { used: Number(used ?? 0), leased: Number(leased ?? 0) };
  }
}
