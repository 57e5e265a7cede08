import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import { compileKnownFields, type KnownFields } from '../../shared/messages/field-slots.js';
import type { Organisation, OrganisationStore } from '../../shared/store/accounts/organisations.js';
import { withMongoTimeout } from '../../shared/store/connection/mongo-errors.js';
import type { Model, ModelStore } from '../../shared/store/models/models.js';

interface Entry<Value> {
  readonly value: Promise<Value>;
  readonly untilMs: number;
}

export interface ShortCacheOptions<Value> {
  /** How long a value is remembered, in ms. */
  readonly ttlMs: number;
  /** Entries at most; the oldest goes first. */
  readonly capacity: number;
  readonly load: (key: string) => Promise<Value>;
}

/**
 * Remembers what was loaded for a short while, and loads it once for all who ask at the same time. A failed load is not
 * remembered. Time is the monotonic clock's: a rehearsal that moves the service's clock does not move this one.
 */
export class ShortCache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();

  constructor(private readonly options: ShortCacheOptions<Value>) {}

  /** The value of a key, loaded when it is not remembered. Rejects with what `load` throws. */
  get(key: string): Promise<Value> {
    const known = this.entries.get(key);
    if (known !== undefined && performance.now() < known.untilMs) return known.value;
    const entry = { value: this.options.load(key), untilMs: performance.now() + this.options.ttlMs };
    this.entries.delete(key);
    this.entries.set(key, entry);
    entry.value.catch(() => {
      if (this.entries.get(key) === entry) this.entries.delete(key);
    });
    if (this.entries.size > this.options.capacity) {
      const [oldest] = this.entries.keys();
      if (oldest !== undefined) this.entries.delete(oldest);
    }
    return entry.value;
  }

  /** Whether a key was loaded, or is being loaded, and there was room to keep it since; it may have to be loaded again. */
  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** Forgets one key. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Forgets everything. */
  clear(): void {
    this.entries.clear();
  }
}

const rememberedMs = 5_000;
const readTimeoutMs = 3_000;
const rememberedOrganisations = 10_000;
const rememberedManifests = 500;
/** Versions are immutable: remembered for as long as there is room. */
const foreverMs = Number.POSITIVE_INFINITY;

/** An organisation and its models, deleted ones too: their predictions still tell that a lead is known. */
export interface Workspace {
  readonly organisation: Organisation;
  readonly models: readonly Model[];
}

/** A version's manifest, and its fields compiled. */
export interface CompiledManifest {
  readonly manifest: Manifest;
  readonly knownFields: KnownFields;
}

export interface WorkspaceCacheOptions {
  readonly organisations: OrganisationStore;
  readonly models: ModelStore;
  readonly loadManifest: (modelId: string, version: string) => Promise<Manifest | undefined>;
}

/** What the gateway knows of organisations and models; remembered for five seconds, or until a change is published. */
export class WorkspaceCache {
  private readonly workspaces: ShortCache<Workspace | undefined>;
  private readonly manifests: ShortCache<CompiledManifest | undefined>;

  constructor(private readonly options: WorkspaceCacheOptions) {
    this.workspaces = new ShortCache({
      ttlMs: rememberedMs,
      capacity: rememberedOrganisations,
      load: (organisationId) => this.loadWorkspace(organisationId),
    });
    this.manifests = new ShortCache({
      ttlMs: foreverMs,
      capacity: rememberedManifests,
      load: (key) => this.loadCompiled(key),
    });
  }

  /** An organisation with its models. */
  workspace(organisationId: string): Promise<Workspace | undefined> {
    return this.workspaces.get(organisationId);
  }

  /** An organisation with its models, for a call that names one of them: a model that is not remembered may be new. */
  async workspaceFor(organisationId: string, modelId: string): Promise<Workspace | undefined> {
    const remembered = await this.workspaces.get(organisationId);
    if (remembered === undefined || remembered.models.some((model) => model._id === modelId))
      return remembered;
    this.workspaces.forget(organisationId);
    return await this.workspaces.get(organisationId);
  }

  /** A version's manifest; undefined when it is not stored. */
  async manifest(modelId: string, version: string): Promise<CompiledManifest | undefined> {
    const key = `${modelId}:${version}`;
    const manifest = await this.manifests.get(key);
    // It may be stored later.
    if (manifest === undefined) this.manifests.forget(key);
    return manifest;
  }

  /** Forgets organisations and models; manifests never change. */
  invalidateAll(): void {
    this.workspaces.clear();
  }

  private async loadWorkspace(organisationId: string): Promise<Workspace | undefined> {
    const [organisation, models] = await withMongoTimeout(readTimeoutMs, () =>
      Promise.all([
        this.options.organisations.find(organisationId),
        this.options.models.listWithDeleted(organisationId),
      ]),
    );
    return organisation && { organisation, models };
  }

  private async loadCompiled(key: string): Promise<CompiledManifest | undefined> {
    const colon = key.indexOf(':');
    const manifest = await this.options.loadManifest(key.slice(0, colon), key.slice(colon + 1));
    return manifest && { manifest, knownFields: compileKnownFields(manifest) };
  }
}
