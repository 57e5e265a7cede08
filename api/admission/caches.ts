import type { Clock } from '../../shared/contract/dates.js';
import type { Logger } from '../../shared/process/logger.js';
import { type Change, everyKey, subscribeToChanges } from '../../shared/redis/changes.js';
import type { Redis } from '../../shared/redis/connect.js';
import { OrganisationStore } from '../../shared/store/accounts/organisations.js';
import { ChangeLog } from '../../shared/store/connection/change-log.js';
import type { Db } from '../../shared/store/connection/connect.js';
import { loadStoredManifest } from '../../shared/store/models/model-versions.js';
import { ModelStore } from '../../shared/store/models/models.js';
import { ValidationStore } from '../../shared/store/validation/model-validation.js';
import { ModelVerdicts } from '../../shared/store/validation/model-verdicts.js';
import { ChangeFollower } from './change-follower.js';
import { WorkspaceCache } from './workspace-cache.js';

/** A cache of keys, which only gateways have. */
interface KeyCache {
  forget(id: string): void;
  invalidateAll(): void;
}

export interface CachesOptions<Keys extends KeyCache | undefined> {
  readonly keysWith: (isFollowing: () => boolean) => Keys;
  readonly database: Db;
  /** A dedicated connection for announcements. */
  readonly subscriber: Redis;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The caches that admission reads. */
export interface AdmissionCaches {
  readonly workspaces: WorkspaceCache;
  readonly verdicts: ModelVerdicts;
}

/** The caches of a gateway or a runner: keys, organisations with their models, and verdicts. */
export interface Caches<Keys> extends AdmissionCaches {
  readonly keys: Keys;
  readonly models: ModelStore;
  readonly follower: ChangeFollower;
}

/** Makes empty caches. Without `isFollowing`, what they read holds for a limited time. */
export function admissionCaches({
  database,
  clock,
  logger,
  isFollowing,
}: Pick<CachesOptions<undefined>, 'database' | 'clock' | 'logger'> & {
  readonly isFollowing?: () => boolean;
}): AdmissionCaches {
  const workspaces = new WorkspaceCache({
    organisations: new OrganisationStore(database),
    models: new ModelStore(database),
    ...(isFollowing && { isFollowing }),
    loadManifest: (modelId, version) => loadStoredManifest(database, modelId, version),
  });
  const validation = new ValidationStore(database);
  const verdicts = new ModelVerdicts({ validation, clock, logger, ...(isFollowing && { isFollowing }) });
  return { workspaces, verdicts };
}

/**
 * Starts the caches. A change takes effect at once when Redis announces it, else when it is read from the change log.
 */
export async function startCaches<Keys extends KeyCache | undefined>(
  options: CachesOptions<Keys>,
): Promise<Caches<Keys>> {
  const { keysWith, database, subscriber, clock, logger } = options;
  const drop = ({ kind, id }: Change): void => {
    if (kind === 'key' && id === everyKey) keys?.invalidateAll();
    else if (kind === 'key') keys?.forget(id);
    else if (kind === 'validation') verdicts.forget(id);
    else if (kind === 'organisation') workspaces.forget(id);
    else workspaces.forgetModel(id);
  };
  const onGap = (): void => {
    for (const cache of [keys, workspaces, verdicts]) cache?.invalidateAll();
  };
  const follower = new ChangeFollower({ log: new ChangeLog(database), logger, onChange: drop, onGap });
  const { isFollowing } = follower;
  const keys = keysWith(isFollowing);
  const { workspaces, verdicts } = admissionCaches({ database, clock, logger, isFollowing });
  await follower.start();
  const readLog = (): void => void follower.read();
  await subscribeToChanges(subscriber, {
    onChange: (change) => {
      drop(change);
      // The log has the organisation of a model that the cache does not know yet.
      if (change.kind === 'model') readLog();
    },
    onGap: readLog,
  });
  return { keys, models: new ModelStore(database), workspaces, verdicts, follower };
}
