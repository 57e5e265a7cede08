import { publishChange } from '../../../shared/redis/changes.js';
import type { Model } from '../../../shared/store/models/models.js';
import { scored } from '../../support/http/score-reply.js';
import { sampleBundle, sampleFeatures } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

/** Workspaces, keys and models that the tables of inputs refer to. */
export interface BadInputRig {
  readonly own: TestWorkspace;
  /** Secret of the live key of `own`. */
  readonly secret: string;
  readonly revokedSecret: string;
  /** Model whose `company_size` is required. */
  readonly strictModel: Model;
  readonly deletedModel: Model;
  readonly foreignModel: Model;
  /** A workspace whose quota is used up. */
  readonly exhausted: TestWorkspace;
  /** One record below its backstop, and one below the cap of its test key. */
  readonly nearlyExhausted: TestWorkspace;
  readonly onFree: TestWorkspace;
  /** Under policy block, with a timing model. */
  readonly blocked: TestWorkspace;
}

const rigs = new WeakMap<RunningService, Promise<BadInputRig>>();

/** The rig that the tables of refused inputs share, because a refused call changes nothing in it. */
export function sharedRig(service: RunningService): Promise<BadInputRig> {
  const rig = rigs.get(service) ?? badInputRig(service);
  rigs.set(service, rig);
  return rig;
}

/** Creates a rig on a running service. */
export async function badInputRig(service: RunningService): Promise<BadInputRig> {
  const [size, ...features] = sampleFeatures;
  if (size === undefined) throw new Error('the sample bundle has no features');
  const own = await workspace(service);
  const revoked = await own.addKey('live');
  const strictModel = await own.addModel({
    bundle: sampleBundle({ features: [{ ...size, required: true }, ...features] }),
  });
  const deletedModel = await own.addModel();
  await service.stores.models.update(deletedModel._id, { deleted_at: new Date(service.clock.now()) });
  await service.stores.keys.revoke(revoked.key._id, new Date(service.clock.now()));
  await publishChange(service.redis, { kind: 'key', id: revoked.key.hash });
  const foreign = await workspace(service);
  return {
    own,
    secret: own.live.secret,
    revokedSecret: revoked.secret,
    strictModel,
    deletedModel,
    foreignModel: foreign.model,
    exhausted: await used(service, { live: 2, test: 0 }),
    nearlyExhausted: await used(service, { live: 1, test: 999 }),
    onFree: await workspace(service, { plan: 'free' }),
    blocked: await workspace(service, { policy: 'block', bundle: sampleBundle({ family: 'timing' }) }),
  };
}

/** An organisation with a backstop of 2 records, after some usage. */
async function used(
  service: RunningService,
  records: { readonly live: number; readonly test: number },
): Promise<TestWorkspace> {
  const own = await workspace(service, { limit: 1 });
  for (const kind of ['live', 'test'] as const) {
    if (records[kind] === 0) continue;
    const leads = Array.from({ length: records[kind] }, () => ({ company_size: 1 }));
    scored(await own.score(leads, { key: own[kind] }));
  }
  return own;
}

/** Everything that is counted or stored for the organisations of a rig. */
export async function books({ own, exhausted, nearlyExhausted, onFree }: BadInputRig): Promise<unknown> {
  return Promise.all(
    [own, exhausted, nearlyExhausted, onFree].map(async (organisation) => ({
      ledger: await organisation.ledgerSum(),
      test: await organisation.ledgerSum('test'),
      redis: await organisation.redisUsage(),
      redisTest: await organisation.redisUsage('test'),
      predictions: (await organisation.predictions()).length,
    })),
  );
}
