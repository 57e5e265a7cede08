import { Redis } from 'ioredis';
import type { AdminContext } from '../../../shared/admin/action.js';
import { dropCandidate, setCandidate } from '../../../shared/admin/models/candidates/candidates.js';
import { promoteCandidate, rollBackModel } from '../../../shared/admin/models/candidates/promotion.js';
import { setModel } from '../../../shared/admin/models/change-models.js';
import { runAction } from '../../../shared/admin/run-action.js';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { manifestFile } from '../../../shared/bundle/bundle-files.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { type Model, ModelStore } from '../../../shared/store/models/models.js';
import { storeVersion } from '../../../shared/store/models/store-version.js';
import type { OnEnd } from '../../servers/run-to-end.js';
import type { BenchService } from '../service/bench-service.js';
import { operatorContext } from '../service/operator-context.js';

/** The runs are not waited for: only calls are measured then. */
const force = { reason: 'The benchmark promotes without a comparison.' };

/** The versions of the benchmark's model, changed by the actions of the console. All of them score alike. */
export class ModelVersions {
  private readonly context: AdminContext;
  private readonly models: ModelStore;

  constructor(
    { database, redisUrl }: Pick<BenchService, 'database' | 'redisUrl'>,
    private readonly of: { readonly modelId: string; readonly bundlePath: string },
    onEnd: OnEnd,
  ) {
    const redis = new Redis(redisUrl);
    onEnd(async () => redis.disconnect());
    this.models = new ModelStore(database);
    this.context = operatorContext(database, redis);
  }

  async read(): Promise<Model> {
    const model = await this.models.find(this.of.modelId);
    if (model === undefined) throw new Error('the model of the benchmark is gone');
    return model;
  }

  /** Stores the bundle under another version. No process has loaded it. */
  async store(version: string): Promise<void> {
    const files = new Map(await readBundle(this.of.bundlePath));
    const manifest = JSON.parse(files.get(manifestFile)?.toString('utf8') ?? '{}') as object;
    files.set(manifestFile, Buffer.from(JSON.stringify({ ...manifest, version })));
    const { _id: modelId, organisation_id: organisationId } = await this.read();
    const { database } = this.context;
    await storeVersion({ database, organisationId, modelId, bundle: checkBundle(files), now: new Date() });
  }

  async propose(version: string): Promise<void> {
    await runAction(setCandidate, { model_id: this.of.modelId, version }, this.context);
  }

  async drop(): Promise<void> {
    await runAction(dropCandidate, { model_id: this.of.modelId }, this.context);
  }

  /** Lets the candidate score calls. */
  async promote(): Promise<void> {
    const { version: current, candidate } = await this.read();
    const input = { model_id: this.of.modelId, current, candidate: candidate?.version, force };
    await runAction(promoteCandidate, input, this.context);
  }

  /** Lets the version before score calls again. */
  async rollBack(): Promise<void> {
    const { version: current, previous } = await this.read();
    const input = { model_id: this.of.modelId, current, previous: previous?.version };
    await runAction(rollBackModel, input, this.context);
  }

  async serve(version: string): Promise<void> {
    await runAction(setModel, { model_id: this.of.modelId, version }, this.context);
  }
}
