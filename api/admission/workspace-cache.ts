import { LRUCache } from 'lru-cache';
import { manifestBytes } from '../../shared/bundle/manifest/manifest.js';
import { compileKnownFields, type KnownFields } from '../../shared/messages/field-slots.js';
import type { Organisation, OrganisationStore } from '../../shared/store/accounts/organisations.js';
import { withMongoTimeout } from '../../shared/store/connection/connect.js';
import { FollowedCache } from '../../shared/store/connection/followed-cache.js';
import type { StoredManifest } from '../../shared/store/models/model-versions.js';
import type { Model, ModelStore } from '../../shared/store/models/models.js';

const readTimeoutMs = 3_000;
const maxWorkspaceBytes = 256 * 1024 * 1024;
const bytesOfDocument = 1_000; // an organisation, or a model without its texts
/** Versions are immutable, so a manifest has no TTL. Their sizes differ by a factor of a thousand. */
const maxManifestBytes = 256 * 1024 * 1024;

/** An organisation with its models. */
export interface Workspace {
  readonly organisation: Organisation;
  readonly models: readonly Model[];
}

/** A version's manifest with its compiled fields. */
export interface CompiledManifest extends StoredManifest {
  readonly knownFields: KnownFields;
}

export interface WorkspaceCacheOptions {
  readonly organisations: Pick<OrganisationStore, 'find'>;
  readonly models: Pick<ModelStore, 'find' | 'list'>;
  /** Whether the change log is followed; see `FollowedCache`. */
  readonly isFollowing?: () => boolean;
  readonly loadManifest: (modelId: string, version: string) => Promise<StoredManifest | undefined>;
}

/**
 * The organisations, models and manifests that a gateway has read from MongoDB. A failed or empty read is not cached.
 */
export class WorkspaceCache {
  private readonly workspaces: FollowedCache<Workspace>;
  private readonly manifests: LRUCache<string, CompiledManifest>;

  constructor(private readonly options: WorkspaceCacheOptions) {
    this.workspaces = new FollowedCache({
      maxBytes: maxWorkspaceBytes,
      bytesOf: bytesOfWorkspace,
      isFollowing: options.isFollowing,
      read: (organisationId) => this.loadWorkspace(organisationId),
    });
    this.manifests = new LRUCache({
      maxSize: maxManifestBytes,
      sizeCalculation: ({ manifest }) => Math.min(manifestBytes(manifest), maxManifestBytes),
      fetchMethod: (key) => this.loadCompiled(key),
    });
  }

  /** An organisation with its models; undefined when it does not exist. */
  workspace(organisationId: string): Promise<Workspace | undefined> {
    return this.workspaces.get(organisationId);
  }

  /**
   * As `workspace`, for a call that names a model. If the cached workspace lacks it, one document tells whether it is
   * new. Reading all models again for every unknown id would be slow.
   */
  async workspaceFor(organisationId: string, modelId: string): Promise<Workspace | undefined> {
    const cached = await this.workspaces.get(organisationId);
    if (cached === undefined || cached.models.some((model) => model._id === modelId)) return cached;
    const model = await withMongoTimeout(readTimeoutMs, () => this.options.models.find(modelId));
    if (model?.organisation_id !== organisationId) return cached;
    return await this.workspaces.get(organisationId, { isStale: true });
  }

  /** A version's manifest; undefined when it is not stored. */
  manifest(modelId: string, version: string): Promise<CompiledManifest | undefined> {
    return this.manifests.fetch(`${modelId}:${version}`);
  }

  /** Drops an organisation and its models. */
  forget(organisationId: string): void {
    this.workspaces.forget(organisationId);
  }

  /** Drops the organisation that has a model. */
  forgetModel(modelId: string): void {
    for (const { organisation, models } of this.workspaces.values())
      if (models.some(({ _id }) => _id === modelId)) this.workspaces.forget(organisation._id);
  }

  /** Drops organisations and models. Manifests never change. */
  invalidateAll(): void {
    this.workspaces.clear();
  }

  private async loadWorkspace(organisationId: string): Promise<Workspace | undefined> {
    const [organisation, models] = await withMongoTimeout(readTimeoutMs, () =>
      Promise.all([this.options.organisations.find(organisationId), this.options.models.list(organisationId)]),
    );
    return organisation && { organisation, models };
  }

  private async loadCompiled(key: string): Promise<CompiledManifest | undefined> {
    const colon = key.indexOf(':');
    const stored = await this.options.loadManifest(key.slice(0, colon), key.slice(colon + 1));
    return stored && { ...stored, knownFields: compileKnownFields(stored.manifest) };
  }
}

const bytesOfWorkspace = ({ organisation, models }: Workspace): number => {
  const { won_values = [], lost_values = [], suspended } = organisation;
  return models.reduce(
    (bytes, { name, override }) => bytes + bytesOfDocument + 2 * (name.length + (override?.reason.length ?? 0)),
    bytesOfDocument + 2 * [...won_values, ...lost_values, suspended?.reason].join('').length,
  );
};
