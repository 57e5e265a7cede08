import { LRUCache } from 'lru-cache';
import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import { compileKnownFields, type KnownFields } from '../../shared/messages/field-slots.js';
import type { ExplainFiles } from '../drivers/explainer.js';
import type { FeatureRow } from '../feature-row/feature-row.js';
import type { RunGuard } from './inference-session.js';
import { compileModel, type LoadedModel, ModelUnavailable } from './loaded-model.js';

/** The store of versions; in production `shared/store/model-versions.ts`. */
export interface VersionSource {
  loadManifest(modelId: string, version: string): Promise<Manifest | undefined>;
  loadBundle(modelId: string, version: string): Promise<StoredMembers | undefined>;
}

interface StoredMembers extends ExplainFiles {
  readonly manifest: Manifest;
}

interface Entry {
  readonly loading: Promise<LoadedModel>;
  /** The cache counts as a user until it evicts the entry. */
  users: number;
}

interface VersionId {
  readonly modelId: string;
  readonly version: string;
}

/**
 * 1. Loads each version when it is first used, once for all concurrent users.
 * 2. Keeps the `capacity` versions used last. Releases an evicted one when its last user is done.
 * 3. Keeps the field names of older versions, which the fields stored with them need.
 */
export class ModelRegistry {
  private readonly entries: LRUCache<string, Entry>;
  private readonly fields: LRUCache<string, KnownFields, VersionId>;
  private loads = 0;
  private unreadable = 0;
  private readonly unreadableBefore = new WeakMap<FeatureRow, number>();

  /**
   * @param guard wraps every load and run of a version
   * @param onFallback called with the reason when a version cannot be explained exactly
   */
  constructor(
    private readonly source: VersionSource,
    capacity: number,
    private readonly guard: RunGuard = (run) => run(),
    private readonly onFallback: (modelKey: string, reason: string) => void = () => undefined,
  ) {
    this.entries = new LRUCache({ max: capacity, dispose: leave });
    this.fields = new LRUCache({
      max: 4 * capacity,
      ignoreFetchAbort: true, // a version that is evicted while it is being read is still returned
      fetchMethod: async (_key, _stale, { context: { modelId, version } }) => {
        const manifest = await source.loadManifest(modelId, version);
        return manifest && compileKnownFields(manifest);
      },
    });
  }

  /** Loads so far; ONNX leaks some memory with each. */
  get loadCount(): number {
    return this.loads;
  }

  /** Unreadable cells of records so far, of all versions; they count as missing. */
  get unreadableCount(): number {
    return this.unreadable;
  }

  /** Versions that are loaded or being loaded. */
  get size(): number {
    return this.entries.size;
  }

  /**
   * Runs `work` with a loaded version, which is not released before `work` is done.
   * @throws ModelUnavailable when the version is not stored or does not load
   */
  async use<Result>(modelId: string, version: string, work: (model: LoadedModel) => Promise<Result>): Promise<Result> {
    const entry = this.entry(modelId, version);
    entry.users += 1;
    try {
      const model = await entry.loading;
      const result = await work(model);
      this.countUnreadable(model);
      return result;
    } finally {
      leave(entry);
    }
  }

  /** The fields of a version, without loading its ONNX file; undefined when the version is not stored. */
  async fieldsOf(modelId: string, version: string): Promise<KnownFields | undefined> {
    const key = `${modelId}:${version}`;
    const loaded = this.entries.peek(key);
    if (loaded !== undefined) return (await loaded.loading).knownFields;
    return this.fields.fetch(key, { context: { modelId, version } });
  }

  /** Evicts all versions. */
  async close(): Promise<void> {
    this.entries.clear();
  }

  private countUnreadable({ featureRow }: LoadedModel): void {
    const { unreadableCount } = featureRow;
    this.unreadable += unreadableCount - (this.unreadableBefore.get(featureRow) ?? 0);
    this.unreadableBefore.set(featureRow, unreadableCount);
  }

  /**
   * The entry of a version, loaded if need be. It is not loaded by `fetchMethod`, which would never release a model
   * whose entry is evicted during the load.
   */
  private entry(modelId: string, version: string): Entry {
    const key = `${modelId}:${version}`;
    const known = this.entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { loading: this.load(key, modelId, version), users: 1 };
    entry.loading.catch(() => {
      if (this.entries.peek(key) === entry) this.entries.delete(key);
    });
    this.entries.set(key, entry);
    return entry;
  }

  private async load(key: string, modelId: string, version: string): Promise<LoadedModel> {
    const bundle = await this.bundle(modelId, version);
    this.loads += 1;
    return compileModel(bundle.manifest, bundle.onnx, {
      guard: this.guard,
      // Read again for the first explanation: few versions are ever explained, and ONNX holds a copy of its own.
      explainFiles: async () => await this.bundle(modelId, version),
      onFallback: (reason) => this.onFallback(key, reason),
    });
  }

  private async bundle(modelId: string, version: string): Promise<StoredMembers> {
    const bundle = await this.source.loadBundle(modelId, version);
    if (bundle === undefined) throw new ModelUnavailable(`version ${version} of ${modelId} is not stored`);
    return bundle;
  }
}

/** Counts a user out; the last one releases the model. */
function leave(entry: Entry): void {
  entry.users -= 1;
  if (entry.users === 0) entry.loading.then((model) => model.session.release()).catch(() => undefined);
}
