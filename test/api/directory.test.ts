import { expect } from 'chai';
import { Directory, type DirectoryOptions } from '../../api/directory.js';
import type { Manifest } from '../../shared/bundle/manifest.js';

describe('Directory', () => {
  it('remembers a manifest for good, and never that one was not stored', async () => {
    let loads = 0;
    let stored: Manifest | undefined;
    const directory = new Directory({
      loadManifest: async () => {
        loads += 1;
        return stored;
      },
      // Neither is asked for a manifest.
      organisations: {} as DirectoryOptions['organisations'],
      models: {} as DirectoryOptions['models'],
    });
    expect(await directory.manifest('model', '1')).to.equal(undefined);
    stored = { features: [] } as unknown as Manifest;
    const found = await directory.manifest('model', '1');
    expect(found?.manifest).to.equal(stored);
    expect(await directory.manifest('model', '1')).to.equal(found);
    expect(loads).to.equal(2);
  });
});
