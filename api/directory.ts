import type { Manifest } from '../shared/bundle/manifest.js';
import { compileKnownFields, type KnownFields } from '../shared/known-fields.js';
import { inTime } from '../shared/store/in-time.js';
import type { Model, ModelStore } from '../shared/store/models.js';
import type { Organisation, OrganisationStore } from '../shared/store/organisations.js';
import { ShortCache } from './short-cache.js';

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

export interface DirectoryOptions {
  readonly organisations: OrganisationStore;
  readonly models: ModelStore;
  readonly loadManifest: (modelId: string, version: string) => Promise<Manifest | undefined>;
}

/** What the gateway knows of organisations and models; remembered for five seconds, or until a change is published. */
export class Directory {
  private readonly workspaces: ShortCache<Workspace | undefined>;
  private readonly manifests: ShortCache<CompiledManifest | undefined>;

  constructor(private readonly options: DirectoryOptions) {
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
  forgetAll(): void {
    this.workspaces.clear();
  }

  private async loadWorkspace(organisationId: string): Promise<Workspace | undefined> {
    const [organisation, models] = await inTime(readTimeoutMs, () =>
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
