import { bandScores, type GateResult, notYetGraded, validationGates } from '../../../shared/contract/verdict.js';
import { rateWindowKey } from '../../../shared/redis/keys.js';
import type { Model } from '../../../shared/store/models/models.js';
import { type HttpCall, type HttpReply, httpCall } from '../../support/http/http-call.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

/** Workspaces and models in every state that affects a call. */
export interface Scene {
  readonly service: RunningService;
  readonly plain: TestWorkspace;
  readonly readOnly: TestWorkspace;
  readonly suspended: TestWorkspace;
  readonly free: TestWorkspace;
  readonly blocked: TestWorkspace;
  readonly disabledModel: Model;
  /** A model with a stored grade. */
  readonly gradedModel: Model;
  /** A key with a rate of one call per second. */
  readonly usedUpKey: UsableKey;
  /** A key that may only erase, and one that may not. */
  readonly erasingKey: UsableKey;
  readonly scoringKey: UsableKey;
  /** A key with corrupt rate windows in Redis. */
  readonly brokenKey: UsableKey;
  /** The address of a gateway with the aliases switched off. */
  readonly goneUrl: string;
}

/** The fields of a lead that is old enough for a warning. */
export const lead = { company_size: 120, last_activity: '2020-01-01' };

/** @param goneUrl address of a gateway of the service with LEGACY_ALIASES=gone */
export async function setScene(service: RunningService, goneUrl: string): Promise<Scene> {
  const recency = { field: 'last_activity', max_age_days: 90 };
  const bundle = sampleBundle({ manifest: { recency } });
  const [plain, readOnly, free, blocked, suspended] = await Promise.all([
    workspace(service, { bundle }),
    workspace(service, { bundle, plan: 'trial', trialEndsAt: new Date(service.clock.now() - 1000) }),
    workspace(service, { bundle, plan: 'free' }),
    workspace(service, { bundle, policy: 'block' }),
    workspace(service, { bundle }),
  ]);
  await suspended.change({ suspended: { at: new Date(), by: 'Olga', reason: 'not paid' } });
  const [disabledModel, gradedModel, usedUpKey, brokenKey, erasingKey, scoringKey] = await Promise.all([
    plain.addModel({ bundle, liveApi: false }),
    plain.addModel({ bundle, liveApi: false }),
    plain.addKey('live', { rate: 1 }),
    plain.addKey('live'),
    plain.addKey('live', { scopes: ['erase'] }),
    plain.addKey('live', { scopes: ['score'] }),
  ]);
  for (const window of ['scoring', 'reading', 'erasing', 'outcomes'] as const)
    await service.redis.set(rateWindowKey(plain.id, brokenKey.key._id, window), 'not a window');
  await storeGrade(service, gradedModel);
  return {
    service,
    plain,
    readOnly,
    suspended,
    free,
    blocked,
    disabledModel,
    gradedModel,
    usedUpKey,
    brokenKey,
    erasingKey,
    scoringKey,
    goneUrl,
  };
}

async function storeGrade({ stores, clock }: RunningService, model: Model): Promise<void> {
  const at = new Date(clock.now());
  const gates = validationGates.map(
    (gate, index): GateResult =>
      index === 0
        ? { gate, state: 'too_early', figures: { predictions: 3 }, needs: '200 predictions are required' }
        : { gate, state: 'not_reached', figures: {} },
  );
  const bands = bandScores.map((scores) => ({
    scores,
    records: 0,
    conversions: 0,
    rate: 0,
    low: 0,
    high: 0,
  }));
  const once = { horizon_days: 90, data_read_at: at, rebuilt_at: at };
  await stores.validation.replace({
    _id: `${model._id}:${model.version}`,
    organisation_id: model.organisation_id,
    ...notYetGraded,
    graded_at: at,
    grade: { as_of: at, state: 'too_early_to_grade', gates, bands, ...once },
  });
}

/** Sends calls until one is refused by the rate limit, and returns that reply. */
export async function usedUp(send: () => Promise<HttpReply>): Promise<HttpReply> {
  for (;;) {
    const replies = await Promise.all(Array.from({ length: 11 }, send));
    const refused = replies.find(({ status }) => status === 429);
    if (refused !== undefined) return refused;
  }
}

/** Sends a call that the HTTP parser rejects. */
export const withHugeHeader = (url: string, method: NonNullable<HttpCall['method']>): Promise<HttpReply> =>
  httpCall(url, { method, headers: { 'x-padding': 'x'.repeat(20_000) } });
