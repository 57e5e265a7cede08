import { expect } from 'chai';
import { WorkspaceCache } from '../../../api/admission/workspace-cache.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { StoredManifest } from '../../../shared/store/models/model-versions.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { modelOf, organisationOf } from '../../support/scoring/stored-documents.js';

const { manifest } = checkBundle(sampleBundle());

/** Neither is read for a manifest. */
const unread = {
  organisations: { find: () => expect.fail('an organisation was read') },
  models: { find: () => expect.fail('a model was read'), list: () => expect.fail('models were read') },
};

describe('WorkspaceCache', () => {
  it('reads a stored manifest and its explain method once, and looks for a missing one again', async () => {
    let loads = 0;
    let stored: StoredManifest | undefined;
    const workspaces = new WorkspaceCache({
      loadManifest: async () => {
        loads += 1;
        return stored;
      },
      ...unread,
    });
    expect(await workspaces.manifest('model', '1')).to.equal(undefined);
    stored = { manifest, explainMethod: 'tree' };
    const found = await workspaces.manifest('model', '1');
    expect(found).to.include(stored);
    expect(await workspaces.manifest('model', '1')).to.equal(found);
    expect(loads).to.equal(2);
  });

  it('reads one document for an unknown model, and all models again only for a new one', async () => {
    const models = [modelOf({ _id: 'old' })];
    const reads: string[] = [];
    const workspaces = new WorkspaceCache({
      loadManifest: async () => undefined,
      organisations: { find: async () => organisationOf() },
      models: {
        list: async () => {
          reads.push('all');
          return [...models];
        },
        find: async (id: string) => {
          reads.push(id);
          return models.find(({ _id }) => _id === id);
        },
      },
    });
    const idsFor = async (id: string) =>
      (await workspaces.workspaceFor('org', id))?.models.map(({ _id }) => _id).filter((_id) => _id === id);
    expect(await idsFor('old')).to.deep.equal(['old']);
    models.push(modelOf({ _id: 'foreign', organisation_id: 'other' }));
    for (const id of ['unknown', 'foreign']) expect(await idsFor(id)).to.deep.equal([]);
    expect(reads).to.deep.equal(['all', 'unknown', 'foreign']);
    models.push(modelOf({ _id: 'new' }));
    expect(await idsFor('new')).to.deep.equal(['new']);
    expect(reads.slice(3)).to.deep.equal(['new', 'all']);
  });

  it('keeps the manifests used last, up to 256 MiB of them', async () => {
    const loads: string[] = [];
    // A manifest is estimated at twelve bytes for each character: 96 MB.
    const large = { ...manifest, name: 'x'.repeat(8_000_000) };
    const workspaces = new WorkspaceCache({
      loadManifest: async (modelId) => {
        loads.push(modelId);
        return { manifest: large, explainMethod: 'tree' };
      },
      ...unread,
    });
    for (const modelId of ['a', 'b', 'a', 'c', 'a', 'b']) await workspaces.manifest(modelId, '1');
    expect(loads).to.deep.equal(['a', 'b', 'c', 'b']);
  });

  it('answers the calls that wait for a read when it is invalidated, and reads again for the next call', async () => {
    const reads: (() => void)[] = [];
    const organisation = organisationOf();
    const workspaces = new WorkspaceCache({
      loadManifest: async () => undefined,
      organisations: {
        find: () => new Promise<void>((resolve) => reads.push(resolve)).then(() => organisation),
      },
      models: { list: async () => [], find: async () => undefined },
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

  it('drops the organisation of a change, or of the changed model, and no other', async () => {
    const reads: string[] = [];
    const workspaces = new WorkspaceCache({
      isFollowing: () => true,
      loadManifest: async () => undefined,
      organisations: {
        find: async (_id: string) => {
          reads.push(_id);
          return organisationOf({ _id });
        },
      },
      models: {
        list: async (organisation: string) => [modelOf({ _id: `model of ${organisation}` })],
        find: async () => undefined,
      },
    });
    const readsOfAll = async () => {
      reads.length = 0;
      for (const organisation of ['a', 'b', 'c']) await workspaces.workspace(organisation);
      return reads;
    };
    expect(await readsOfAll()).to.deep.equal(['a', 'b', 'c']);
    expect(await readsOfAll()).to.deep.equal([]);
    workspaces.forget('a');
    expect(await readsOfAll()).to.deep.equal(['a']);
    workspaces.forgetModel('model of b');
    expect(await readsOfAll()).to.deep.equal(['b']);
    workspaces.invalidateAll();
    expect(await readsOfAll()).to.deep.equal(['a', 'b', 'c']);
  });
});
