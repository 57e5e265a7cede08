import { expect } from 'chai';
import { WorkspaceCache, type WorkspaceCacheOptions } from '../../../api/scoring/workspace-cache.js';
import type { Manifest } from '../../../shared/bundle/manifest/manifest.js';

describe('Directory', () => {
  it('remembers a manifest for good, and never that one was not stored', async () => {
    let loads = 0;
    let stored: Manifest | undefined;
    const workspaces = new WorkspaceCache({
      loadManifest: async () => {
        loads += 1;
        return stored;
      },
      // Neither is asked for a manifest.
      organisations: {} as WorkspaceCacheOptions['organisations'],
      models: {} as WorkspaceCacheOptions['models'],
    });
    expect(await workspaces.manifest('model', '1')).to.equal(undefined);
    stored = { features: [] } as unknown as Manifest;
    const found = await workspaces.manifest('model', '1');
    expect(found?.manifest).to.equal(stored);
    expect(await workspaces.manifest('model', '1')).to.equal(found);
    expect(loads).to.equal(2);
  });
});
