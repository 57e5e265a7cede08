import { LRUCache } from 'lru-cache';
import { type Manifest, manifestBytes } from '../../shared/bundle/manifest/manifest.js';
import { compileKnownFields, type KnownFields } from '../../shared/messages/field-slots.js';
import type { ExplainFiles } from '../drivers/explainer.js';
import type { FeatureRow } from '../feature-row/feature-row.js';
import { noCounts, type WorkerCounts } from '../pool/worker-counts.js';
import type { RunGuard } from './inference-session.js';
import { compileModel, type LoadedModel, ModelUnavailable } from './loaded-model.js';

/** The store of versions; in production `shared/store/model-versions.ts`. */
export interface VersionSource {
  loadManifest(modelId: string, version: string): Promise<Manifest | undefined>;
  /** Reads what scoring needs. */
  loadModel(modelId: string, version: string): Promise<StoredMembers | undefined>;
  /** Reads also what only explanations need. */
  loadBundle(modelId: string, version: string): Promise<(StoredMembers & ExplainFiles) | undefined>;
}

interface StoredMembers {
  readonly manifest: Manifest;
  readonly onnx: Uint8Array;
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

/** The field names of older versions, together. */
const maxFieldsBytes = 64 * 1024 * 1024;
const bytesPerSlot = 3_000; // measured with twenty aliases each

/**
 * Estimates the memory of a loaded version. By measurement, ONNX Runtime holds 5 to 7 bytes for each byte of its file.
 * An explanation holds up to 4 more, and compiled features up to 24 bytes for each character of the manifest.
 */
export const loadedBytes = ({ manifest, onnx }: StoredMembers, isExplained: boolean): number =>
  384 * 1024 + (isExplained ? 11 : 7) * onnx.length + 2 * manifestBytes(manifest);

/**
 * 1. Loads each version when it is first used, once for all concurrent users.
 * 2. Keeps the versions used last, up to `maxBytes` together. Releases an evicted one when its last user is done.
 * 3. Keeps the field names of older versions, which the fields stored with them need.
 */
export class ModelRegistry {
  /** The cache weighs an entry when it is set, and only if the object is another: hence the object around it. */
  private readonly entries: LRUCache<string, { readonly entry: Entry }>;
  private readonly fields: LRUCache<string, KnownFields, VersionId>;
  private readonly counted: { -readonly [count in keyof WorkerCounts]: number } = { ...noCounts };
  private readonly countedBefore = new WeakMap<FeatureRow, Pick<WorkerCounts, 'unreadable' | 'unseen'>>();

  /**
   * @param guard wraps every load and run of a version
   * @param onFallback called with the reason when a version cannot be explained exactly
   */
  constructor(
    private readonly source: VersionSource,
    private readonly maxBytes: number,
    private readonly guard: RunGuard = (run) => run(),
    private readonly onFallback: (modelKey: string, reason: string) => void = () => undefined,
  ) {
    this.entries = new LRUCache({ maxSize: maxBytes, noDisposeOnSet: true, dispose: ({ entry }) => leave(entry) });
    this.fields = new LRUCache({
      maxSize: maxFieldsBytes,
      sizeCalculation: ({ slotCount }) => bytesPerSlot * (1 + slotCount),
      ignoreFetchAbort: true, // a version that is evicted while it is being read is still returned
      fetchMethod: async (_key, _stale, { context: { modelId, version } }) => {
        const manifest = await source.loadManifest(modelId, version);
        return manifest && compileKnownFields(manifest);
      },
    });
  }

  /** The counts of all versions so far. */
  get counts(): WorkerCounts {
    return { ...this.counted };
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
      this.countCells(model);
      return result;
    } finally {
      leave(entry);
    }
  }

  /** The fields of a version, without loading its ONNX file; undefined when the version is not stored. */
  async fieldsOf(modelId: string, version: string): Promise<KnownFields | undefined> {
    const key = `${modelId}:${version}`;
    const loaded = this.entries.peek(key)?.entry;
    if (loaded !== undefined) return (await loaded.loading).knownFields;
    return this.fields.fetch(key, { context: { modelId, version } });
  }

  /** Evicts all versions. */
  async close(): Promise<void> {
    this.entries.clear();
  }

  private countCells({ featureRow }: LoadedModel): void {
    const { unreadableCount: unreadable, unseenCount: unseen } = featureRow;
    const before = this.countedBefore.get(featureRow);
    this.counted.unreadable += unreadable - (before?.unreadable ?? 0);
    this.counted.unseen += unseen - (before?.unseen ?? 0);
    this.countedBefore.set(featureRow, { unreadable, unseen });
  }

  /**
   * The entry of a version, loaded if need be. It is not loaded by `fetchMethod`, which would never release a model
   * whose entry is evicted during the load.
   */
  private entry(modelId: string, version: string): Entry {
    const key = `${modelId}:${version}`;
    const known = this.entries.get(key)?.entry;
    if (known !== undefined) {
      this.counted.hits += 1;
      return known;
    }
    // A version larger than all the room is kept alone: it would otherwise be loaded for each chunk.
    const weigh = (bytes: number) => this.entries.set(key, { entry }, { size: Math.min(bytes, this.maxBytes) });
    const isCached = () => this.entries.peek(key)?.entry === entry;
    const reweigh = (bytes: number) => isCached() && weigh(bytes);
    const entry: Entry = { loading: this.load({ modelId, version }, reweigh), users: 1 };
    entry.loading.catch(() => {
      if (isCached()) this.entries.delete(key);
    });
    weigh(1); // until its files are read
    return entry;
  }

  private async load(of: VersionId, reweigh: (bytes: number) => void): Promise<LoadedModel> {
    const { modelId, version } = of;
    const model = stored(of, await this.source.loadModel(modelId, version));
    this.counted.loads += 1;
    reweigh(loadedBytes(model, false));
    return compileModel(model.manifest, model.onnx, {
      guard: this.guard,
      // Read for the first explanation: few versions are ever explained. The ONNX file is read again, because ONNX
      // Runtime holds a copy of its own.
      explainFiles: async () => {
        const files = stored(of, await this.source.loadBundle(modelId, version));
        reweigh(loadedBytes(files, true));
        return files;
      },
      onFallback: (reason) => this.onFallback(`${modelId}:${version}`, reason),
    });
  }
}

/** @throws ModelUnavailable when the version was not found */
function stored<Found>({ modelId, version }: VersionId, found: Found | undefined): Found {
  if (found === undefined) throw new ModelUnavailable(`version ${version} of ${modelId} is not stored`);
  return found;
}

/** Counts a user out; the last one releases the model. */
function leave(entry: Entry): void {
  entry.users -= 1;
  if (entry.users === 0) entry.loading.then((model) => model.session.release()).catch(() => undefined);
}
