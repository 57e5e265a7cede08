import { expect } from 'chai';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { type LoadedModel, ModelUnavailable } from '../../../worker/models/loaded-model.js';
import { ModelRegistry } from '../../../worker/models/model-registry.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

const megabyte = 1_000_000;
const version = '1.0.0';
const modelIds = (count: number) => Array.from({ length: count }, (_, index) => `mdl_${index}`);

describe('the models that a worker keeps', () => {
  const { manifest, onnx } = checkBundle(sampleBundle());
  let loaded: string[];
  let isStored: (modelId: string) => boolean;

  beforeEach(() => {
    loaded = [];
    isStored = () => true;
  });

  const registryOf = (capacity: number) =>
    new ModelRegistry(
      {
        loadBundle: async (modelId) => {
          loaded.push(modelId);
          return isStored(modelId) ? { manifest, onnx } : undefined;
        },
        loadManifest: async () => manifest,
      },
      capacity,
    );

  const run = (model: LoadedModel) => model.session.run(new Float32Array(model.manifest.width), 1);

  it('are loaded when they are first used, once for all who ask at the same time', async () => {
    const registry = registryOf(3);
    await Promise.all(['a', 'a', 'b', 'a'].map((modelId) => registry.use(modelId, version, run)));
    await registry.use('a', version, run);
    expect(loaded).to.deep.equal(['a', 'b']);
    await registry.close();
  });

  it('are those used last, and no more than there is room for, also of two hundred', async () => {
    const registry = registryOf(50);
    for (const modelId of modelIds(200)) {
      await registry.use(modelId, version, run);
      await registry.use('mdl_0', version, run);
      expect(registry.size).to.be.at.most(50);
    }
    expect(loaded).to.have.length(200);
    await registry.use('mdl_0', version, run);
    await registry.use('mdl_199', version, run);
    expect(loaded, 'those used last are still there').to.have.length(200);
    await registry.use('mdl_1', version, run);
    expect(loaded, 'one used long ago is not').to.have.length(201);
    await registry.close();
  });

  it('are let go of only when nobody uses them any more', async () => {
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

  it('are asked for again when they could not be loaded', async () => {
    const registry = registryOf(2);
    isStored = () => false;
    const refused = await registry.use('a', version, run).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ModelUnavailable);
    isStored = () => true;
    await registry.use('a', version, run);
    expect(loaded).to.deep.equal(['a', 'a']);
    await registry.close();
  });

  it('give back the memory of those that are let go of, again and again', async function () {
    this.timeout(120_000);
    const large = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
    const source = { loadBundle: async () => large, loadManifest: async () => large.manifest };
    const registry = new ModelRegistry(source, 5);
    const cycle = async (times: number) => {
      for (let index = 0; index < times; index += 1) await registry.use(`mdl_${index % 20}`, version, run);
    };
    await cycle(200);
    const before = process.memoryUsage().rss;
    await cycle(800);
    expect(registry.loadCount).to.equal(1_000);
    const grownMb = (process.memoryUsage().rss - before) / megabyte;
    process.stdout.write(`    measured ${grownMb.toFixed(0)} MB more after 800 loads\n`);
    expect(grownMb, 'MB in 800 loads').to.be.below(30);
    await registry.close();
  });
});
