import { expect } from 'chai';
import { WorkspaceCache, type WorkspaceCacheOptions } from '../../../api/scoring/workspace-cache.js';
import type { Manifest } from '../../../shared/bundle/manifest/manifest.js';
import type { StoredManifest } from '../../../shared/store/models/model-versions.js';

describe('WorkspaceCache', () => {
  it('reads a stored manifest and its explain method once, and looks for a missing one again', async () => {
    let loads = 0;
    let stored: StoredManifest | undefined;
    const workspaces = new WorkspaceCache({
      loadManifest: async () => {
        loads += 1;
        return stored;
      },
      // Neither is read for a manifest.
      organisations: {} as WorkspaceCacheOptions['organisations'],
      models: {} as WorkspaceCacheOptions['models'],
    });
    expect(await workspaces.manifest('model', '1')).to.equal(undefined);
    stored = { manifest: { features: [] } as unknown as Manifest, explainMethod: 'tree' };
    const found = await workspaces.manifest('model', '1');
    expect(found).to.include(stored);
    expect(await workspaces.manifest('model', '1')).to.equal(found);
    expect(loads).to.equal(2);
  });

  it('answers the calls that wait for a read when it is invalidated, and reads again for the next call', async () => {
    const reads: (() => void)[] = [];
    const organisation = { _id: 'org' };
    const workspaces = new WorkspaceCache({
      loadManifest: async () => undefined,
      organisations: {
        find: () => new Promise<void>((resolve) => reads.push(resolve)).then(() => organisation),
      } as unknown as WorkspaceCacheOptions['organisations'],
      models: { list: async () => [] } as unknown as WorkspaceCacheOptions['models'],
    });
    const waiting = workspaces.workspace('org');
    workspaces.invalidateAll();
    reads[0]?.();
    expect(await waiting).to.deep.equal({ organisation, models: [] });
    const next = workspaces.workspace('org');
    expect(reads, 'the read from before the invalidation is not cached').to.have.length(2);
    reads[1]?.();
    await next;
  });
});
