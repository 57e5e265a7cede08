import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { monthOf } from '../../../shared/contract/dates.js';
import type { PlanName } from '../../../shared/contract/plans.js';
import type { Scope } from '../../../shared/contract/roles.js';
import { publishChange } from '../../../shared/redis/changes.js';
import { type UsageBucket, type UsageCounter, usageKey } from '../../../shared/redis/keys.js';
import type { DeployPolicy, Organisation, OrganisationFields } from '../../../shared/store/accounts/organisations.js';
import { segmentColumns } from '../../../shared/store/calls/prediction-segment.js';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';
import type { Model } from '../../../shared/store/models/models.js';
import { storeVersion } from '../../../shared/store/models/store-version.js';
import { type HttpCall, type HttpReply, httpCall } from '../http/http-call.js';
import { type PredictionRow, predictionRows } from './prediction-rows.js';
import { type RunningService, type SharedServiceName, sharedService, startTimeoutMs } from './service.js';
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
  /** Included records per month; the plan's limit by default. */
  readonly limit?: number;
  readonly policy?: DeployPolicy;
  readonly trialEndsAt?: Date;
  /** Calls per second of each key; practically unlimited by default. */
  readonly rate?: number;
}

export interface CallOptions {
  /** The live key by default; null sends no key. */
  readonly key?: UsableKey | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Number of the gateway, from 0; each gateway in turn by default. */
  readonly gateway?: number;
  /** Address of an additional gateway, instead of `gateway`. */
  readonly url?: string | undefined;
}

export interface ScoreOptions extends CallOptions {
  /** The workspace's first model by default. */
  readonly modelId?: string;
  readonly explain?: boolean;
}

export type SentRecord = Readonly<Record<string, unknown>>;

const unlimitedRate = 1_000_000;

/** Creates an organisation with a live key, a test key and a model; by default on plan `pro` with policy `warn`. */
export async function workspace(service: RunningService, options: WorkspaceOptions = {}): Promise<TestWorkspace> {
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

/**
 * Hooks of a suite on a shared service. Each test begins with its own workspace.
 * @param set gets the workspace of the next test, and the service
 */
export function onOwnWorkspace(
  set: (own: TestWorkspace, service: RunningService) => void | Promise<void>,
  name: SharedServiceName = 'default',
): void {
  let service: RunningService;
  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService(name);
  });
  beforeEach(async () => set(await workspace(service), service));
}

/** One organisation of a running service: its calls, its changes, and its stored data. */
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

  score(records: readonly SentRecord[], options: ScoreOptions = {}): Promise<HttpReply> {
    const { modelId = this.model._id, explain } = options;
    return this.post({ model_id: modelId, records, ...(explain === undefined ? {} : { explain }) }, options);
  }

  /** `POST /v1/score`. Sends a string as it is, any other body as JSON. */
  post(body: unknown, options: CallOptions = {}): Promise<HttpReply> {
    return this.call('/v1/score', { ...options, method: 'POST', body });
  }

  /**
   * Sends any call.
   * @param path includes the query
   * @param options `method` defaults to POST with a body, GET without
   */
  call(path: string, options: CallOptions & Pick<HttpCall, 'method' | 'body'> = {}): Promise<HttpReply> {
    const { key = this.live, gateway, url = this.service.url(gateway), body, headers } = options;
    const { method = body === undefined ? 'GET' : 'POST' } = options;
    return httpCall(`${url}${path}`, { method, secret: key?.secret, body, headers });
  }

  /** Adds a model. A gateway that has cached the organisation's models knows the new one within seconds. */
  addModel(options: ModelOptions = {}): Promise<Model> {
    return createModel(this.service, this.id, options);
  }

  addKey(
    kind: UsageBucket,
    { rate = unlimitedRate, scopes }: { readonly rate?: number; readonly scopes?: readonly Scope[] } = {},
  ): Promise<UsableKey> {
    return createKey(this.service, this.id, { kind, rate, scopes });
  }

  /** Changes the organisation and publishes the change, as the operator's command does. */
  async change(fields: Partial<OrganisationFields>, absent: readonly 'suspended'[] = []): Promise<void> {
    const { stores, redis } = this.service;
    await stores.organisations.update(this.id, fields, absent);
    await publishChange(redis, { kind: 'organisation', id: this.id });
  }

  /** Changes a model and publishes the change. */
  async changeModel(
    modelId: string,
    fields: Parameters<RunningService['stores']['models']['update']>[1],
  ): Promise<void> {
    const { stores, redis } = this.service;
    await stores.models.update(modelId, fields);
    await publishChange(redis, { kind: 'model', id: modelId });
  }

  /** Adds a version to the workspace's first model and makes it the current one. */
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

  /** Stores a verdict on a model's current version and publishes the change. */
  async grade(model: Model, verdict: GivenVerdict): Promise<void> {
    await storeVerdict(this.service, model, verdict);
    const id = `${model._id}:${model.version}`;
    await publishChange(this.service.redis, { kind: 'validation', id });
  }

  /** Revokes a key and publishes the change. */
  async revoke({ key }: UsableKey): Promise<void> {
    const { stores, redis, clock } = this.service;
    await stores.keys.revoke(key._id, new Date(clock.now()));
    await publishChange(redis, { kind: 'key', id: key.hash });
  }

  /** The usage counter of this month. */
  counter(bucket: UsageBucket = 'live'): UsageCounter {
    return { organisationId: this.id, bucket, month: monthOf(this.service.clock.now()) };
  }

  /** The records of this month in the ledger, the truth of metering. */
  ledgerSum(bucket: UsageBucket = 'live'): Promise<number> {
    return this.service.stores.ledger.sum(this.counter(bucket));
  }

  /** Every counted call, oldest first, without its predictions. */
  ledgerRows(): Promise<LedgerRow[]> {
    const projection = Object.fromEntries(Object.keys(segmentColumns).map((name) => [name, 0]));
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

  /** This month's records in Redis: used, and leased by calls in flight. Zero without a counter. */
  async redisUsage(bucket: UsageBucket = 'live'): Promise<{ used: number; leased: number }> {
    const [used, leased] = await this.service.redis.hmget(usageKey(this.counter(bucket)), 'used', 'leased');
    return { used: Number(used ?? 0), leased: Number(leased ?? 0) };
  }
}
