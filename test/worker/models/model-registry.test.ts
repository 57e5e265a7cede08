import { expect } from 'chai';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { type LoadedModel, ModelUnavailable } from '../../../worker/models/loaded-model.js';
import { loadedBytes, ModelRegistry } from '../../../worker/models/model-registry.js';
import { eventually } from '../../support/eventually.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

const megabyte = 1_000_000;
const version = '1.0.0';
const modelIds = (count: number) => Array.from({ length: count }, (_, index) => `mdl_${index}`);

describe('the model registry of a worker', () => {
  const { manifest, onnx } = checkBundle(sampleBundle());
  let loaded: string[];
  let isStored: (modelId: string) => boolean;
  let manifestsRead: number;

  beforeEach(() => {
    loaded = [];
    manifestsRead = 0;
    isStored = () => true;
  });

  /** With room for so many sample versions. */
  const registryOf = (capacity: number) =>
    new ModelRegistry(
      {
        loadModel: async (modelId) => {
          loaded.push(modelId);
          return isStored(modelId) ? { manifest, onnx } : undefined;
        },
        loadBundle: async () => ({ manifest, onnx }),
        loadManifest: async (modelId) => {
          manifestsRead += 1;
          return isStored(modelId) ? manifest : undefined;
        },
      },
      Math.floor(capacity * loadedBytes({ manifest, onnx }, false)),
    );

  const run = (model: LoadedModel) => model.session.run(new Float32Array(model.manifest.width), 1);

  it('loads a version when it is first used, once for all concurrent users', async () => {
    const registry = registryOf(3);
    await Promise.all(['a', 'a', 'b', 'a'].map((modelId) => registry.use(modelId, version, run)));
    await registry.use('a', version, run);
    expect(loaded).to.deep.equal(['a', 'b']);
    expect(registry.counts).to.include({ loads: 2, hits: 3 });
    await registry.close();
  });

  it('keeps the fifty versions used last out of two hundred', async () => {
    const registry = registryOf(50);
    for (const modelId of modelIds(200)) {
      await registry.use(modelId, version, run);
      await registry.use('mdl_0', version, run);
      expect(registry.size).to.be.at.most(50);
    }
    expect(loaded).to.have.length(200);
    await registry.use('mdl_0', version, run);
    await registry.use('mdl_199', version, run);
    expect(loaded, 'recently used versions are kept').to.have.length(200);
    await registry.use('mdl_1', version, run);
    expect(loaded, 'a version used long ago is loaded again').to.have.length(201);
    await registry.close();
  });

  describe('with room for a large version and a sample version', () => {
    let large: Awaited<ReturnType<typeof checkBundle>>;
    let registry: ModelRegistry;

    beforeEach(async () => {
      large = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
      registry = new ModelRegistry(
        {
          loadModel: async (modelId) => {
            loaded.push(modelId);
            return modelId === 'large' ? large : { manifest, onnx };
          },
          loadBundle: async () => large,
          loadManifest: async () => manifest,
        },
        loadedBytes(large, false) + loadedBytes({ manifest, onnx }, false),
      );
      for (const modelId of modelIds(3)) await registry.use(modelId, version, run);
    });
    afterEach(() => registry.close());

    it('evicts as many versions as a large one needs, those used longest ago first', async () => {
      expect(registry.size).to.equal(3);
      await registry.use('large', version, run);
      expect(registry.size).to.equal(2);
      await registry.use('mdl_2', version, run);
      expect(loaded).to.deep.equal(['mdl_0', 'mdl_1', 'mdl_2', 'large']);
    });

    it('weighs a version again when it is explained', async () => {
      await registry.use('large', version, (model) => model.explanation());
      expect(registry.size).to.equal(1);
      await registry.use('large', version, run);
      expect(
        loaded.filter((modelId) => modelId === 'large'),
        'explained without another load',
      ).to.have.length(1);
    });
  });

  it('keeps a version that is larger than all the room, alone', async () => {
    const registry = registryOf(0.5);
    for (const modelId of ['a', 'a', 'b', 'b']) await registry.use(modelId, version, run);
    expect(registry.size).to.equal(1);
    expect(loaded).to.deep.equal(['a', 'b']);
    await registry.close();
  });

  it('keeps an evicted version runnable until its user is done', async () => {
    const registry = registryOf(1);
    await registry.use('a', version, async (model) => {
      await registry.use('b', version, run);
      expect(registry.size).to.equal(1);
      expect((await run(model)).length).to.equal(1);
    });
    await registry.use('a', version, run);
    expect(loaded).to.deep.equal(['a', 'b', 'a']);
    await registry.close();
  });

  it('loads a version again after a failed load', async () => {
    const registry = registryOf(2);
    isStored = () => false;
    const refused = await registry.use('a', version, run).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ModelUnavailable);
    isStored = () => true;
    await registry.use('a', version, run);
    expect(loaded).to.deep.equal(['a', 'a']);
    await registry.close();
  });

  it('releases an evicted version only when all its users are done', async () => {
    const registry = registryOf(1);
    let released = 0;
    const countReleases = ({ session }: LoadedModel) => {
      const release = session.release.bind(session);
      session.release = async () => {
        released += 1;
        await release();
      };
    };
    await registry.use('a', version, async (model) => {
      countReleases(model);
      await registry.use('a', version, async () => {
        await registry.use('b', version, run);
      });
      expect(released).to.equal(0);
    });
    await eventually(() => expect(released).to.equal(1));
    await registry.close();
    expect(released).to.equal(1);
  });

  it('reads the fields of a version once for all concurrent users, and again only if it was not stored', async () => {
    const registry = registryOf(2);
    isStored = () => false;
    expect(await registry.fieldsOf('a', version)).to.equal(undefined);
    isStored = () => true;
    const fields = await Promise.all([registry.fieldsOf('a', version), registry.fieldsOf('a', version)]);
    expect(fields[0]?.slotNames).to.include('company_size');
    expect(fields[1]).to.equal(fields[0]);
    expect(await registry.fieldsOf('a', version)).to.equal(fields[0]);
    expect(manifestsRead).to.equal(2);
  });

  it('frees the memory of evicted versions: 800 loads cost less than 30 MB', async function () {
    this.timeout(120_000);
    const large = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
    const loadManifest = async () => large.manifest;
    const source = { loadModel: async () => large, loadBundle: async () => large, loadManifest };
    const registry = new ModelRegistry(source, 5 * loadedBytes(large, false));
    const cycle = async (times: number) => {
      for (let index = 0; index < times; index += 1) await registry.use(`mdl_${index % 20}`, version, run);
    };
    await cycle(200);
    const before = process.memoryUsage().rss;
    await cycle(800);
    expect(registry.counts.loads).to.equal(1_000);
    const grownMb = (process.memoryUsage().rss - before) / megabyte;
    process.stdout.write(`    measured ${grownMb.toFixed(0)} MB more after 800 loads\n`);
    expect(grownMb, 'MB in 800 loads').to.be.below(30);
    await registry.close();
  });
});
