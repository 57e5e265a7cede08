import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import { compileKnownFields, type KnownFields } from '../../shared/messages/field-slots.js';
import type { ExplainFiles } from '../drivers/explainer.js';
import type { FeatureRow } from '../feature-row/feature-row.js';
import { compileModel, type LoadedModel, ModelUnavailable } from './loaded-model.js';

/** Where versions come from; in production `shared/store/models/model-versions.ts`. */
export interface VersionSource {
  loadManifest(modelId: string, version: string): Promise<Manifest | undefined>;
  loadBundle(modelId: string, version: string): Promise<StoredMembers | undefined>;
}

interface StoredMembers extends ExplainFiles {
  readonly manifest: Manifest;
}

interface Entry {
  readonly loading: Promise<LoadedModel>;
  users: number;
  evicted: boolean;
}

/** Runs native code that may never come back, under the `<model>:<version>` that it is of. */
export type GuardedRun = <Result>(modelKey: string, run: () => Promise<Result>) => Promise<Result>;

/**
 * 1. Loads versions of models when they are first needed, each once.
 * 2. Keeps the `capacity` versions used last, and gives back the memory of the others when nobody uses them any more.
 * 3. Keeps the field names of older versions, to read what was stored with them.
 */
export class ModelRegistry {
  private readonly entries = new Map<string, Entry>();
  private readonly fieldsByVersion = new Map<string, Promise<KnownFields | undefined>>();

  private loads = 0;
  private unreadable = 0;
  private readonly unreadableBefore = new WeakMap<FeatureRow, number>();

  /**
   * @param guarded what every load and run of a version goes through: one at a time, noted for when it never ends
   * @param onFallback told when a version cannot be explained exactly, and why
   */
  constructor(
    private readonly source: VersionSource,
    private readonly capacity: number,
    private readonly guarded: GuardedRun = (_modelKey, run) => run(),
    private readonly onFallback: (modelKey: string, reason: string) => void = () => undefined,
  ) {}

  /** How many versions have been loaded so far; ONNX leaks a little with each. */
  get loadCount(): number {
    return this.loads;
  }

  /** How many cells of records could not be read so far, and count as missing, by any version. */
  get unreadableCount(): number {
    return this.unreadable;
  }

  /** How many versions are loaded, or being loaded. */
  get size(): number {
    return this.entries.size;
  }

  /**
   * Runs `work` with a loaded version; it stays loaded for as long as `work` takes.
   * @throws ModelUnavailable when there is no such version or it does not load
   */
  async use<Result>(
    modelId: string,
    version: string,
    work: (model: LoadedModel) => Promise<Result>,
  ): Promise<Result> {
    const entry = this.entry(`${modelId}:${version}`, () => this.load(modelId, version));
    entry.users += 1;
    try {
      const model = await entry.loading;
      const result = await work(model);
      this.countUnreadable(model);
      return result;
    } finally {
      entry.users -= 1;
      if (entry.evicted && entry.users === 0) release(entry);
    }
  }

  /** The fields of a version, without loading its ONNX; undefined when it is not stored any more. */
  async fieldsOf(modelId: string, version: string): Promise<KnownFields | undefined> {
    const key = `${modelId}:${version}`;
    const loaded = this.entries.get(key);
    if (loaded !== undefined) return (await loaded.loading).knownFields;
    let fields = this.fieldsByVersion.get(key);
    if (fields === undefined) {
      fields = this.source
        .loadManifest(modelId, version)
        .then((manifest) => manifest && compileKnownFields(manifest));
      fields.catch(() => this.fieldsByVersion.delete(key));
      this.fieldsByVersion.set(key, fields);
      evictOldest(this.fieldsByVersion, 4 * this.capacity);
    }
    return fields;
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    for (const key of [...this.entries.keys()]) this.evict(key);
  }

  private countUnreadable({ featureRow }: LoadedModel): void {
    const { unreadableCount } = featureRow;
    this.unreadable += unreadableCount - (this.unreadableBefore.get(featureRow) ?? 0);
    this.unreadableBefore.set(featureRow, unreadableCount);
  }

  private entry(key: string, load: () => Promise<LoadedModel>): Entry {
    const known = this.entries.get(key);
    if (known !== undefined) {
      // Last in the map's order is used last.
      this.entries.delete(key);
      this.entries.set(key, known);
      return known;
    }
    const entry: Entry = { loading: load(), users: 0, evicted: false };
    entry.loading.catch(() => {
      if (this.entries.get(key) === entry) this.entries.delete(key);
    });
    this.entries.set(key, entry);
    while (this.entries.size > this.capacity) {
      const [oldest] = this.entries.keys();
      if (oldest === undefined) break;
      this.evict(oldest);
    }
    return entry;
  }

  private evict(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    entry.evicted = true;
    if (entry.users === 0) release(entry);
  }

  private async load(modelId: string, version: string): Promise<LoadedModel> {
    const bundle = await this.bundle(modelId, version);
    this.loads += 1;
    const key = `${modelId}:${version}`;
    return compileModel(bundle.manifest, bundle.onnx, {
      guard: (run) => this.guarded(key, run),
      // Read again when it is needed: few versions are ever explained, and ONNX holds a copy of its own.
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

function release(entry: Entry): void {
  entry.loading.then((model) => model.session.release()).catch(() => undefined);
}

function evictOldest(map: Map<string, unknown>, capacity: number): void {
  while (map.size > capacity) {
    const [oldest] = map.keys();
    if (oldest === undefined) return;
    map.delete(oldest);
  }
}
