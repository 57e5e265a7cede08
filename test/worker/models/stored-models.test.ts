import { expect } from 'chai';
import { Binary, type Db, MongoClient, type ObjectId } from 'mongodb';
import { type CheckedBundle, checkBundle } from '../../../shared/bundle/check-bundle.js';
import { loadBundle, loadManifest, loadModel, type ModelVersion } from '../../../shared/store/models/model-versions.js';
import { storeVersion } from '../../../shared/store/models/store-version.js';
import type { LoadedModel } from '../../../worker/models/loaded-model.js';
import { ModelRegistry } from '../../../worker/models/model-registry.js';
import { failureOf } from '../../support/failure-of.js';
import { packSample, sampleBundle, sampleParts } from '../../support/models/sample-bundle.js';
import { freshDatabases } from '../../support/service/servers.js';

const mebibyte = 1024 * 1024;
const modelId = 'mdl_1';
const version = '1.0.0';
/** GridFS reads a file without chunks as an empty one. */
const changed = 'The stored files of mdl_1:1.0.0 do not match its digest: import it under a new version';

describe('the model registry over stored models', () => {
  let client: MongoClient;
  let database: Db;
  let registry: ModelRegistry;

  before(async () => {
    client = await MongoClient.connect((await freshDatabases()).mongoUrl);
    database = client.db();
  });
  beforeEach(async () => {
    await database.dropDatabase();
    registry = new ModelRegistry(
      {
        loadModel: (...of) => loadModel(database, ...of),
        loadBundle: (...of) => loadBundle(database, ...of),
        loadManifest: (...of) => loadManifest(database, ...of),
      },
      mebibyte,
    );
  });
  afterEach(() => registry.close());
  after(() => client.close());

  const run = (model: LoadedModel) => model.session.run(new Float32Array(model.manifest.width), 1);
  const explain = () => registry.use(modelId, version, async (model) => (await model.explanation()).explainer.method);
  const chunks = () => database.collection<{ files_id: ObjectId; data: Binary }>('bundles.chunks');

  /** Stores a model with covers or golden records, and returns the ids of its files. */
  async function store(bundle: CheckedBundle): Promise<ModelVersion['files']> {
    await storeVersion({ database, organisationId: 'org_1', modelId, bundle, now: new Date() });
    const document = await database.collection<Pick<ModelVersion, '_id' | 'files'>>('model_versions').findOne({});
    if (document === null) throw new Error('no version was stored');
    return document.files;
  }

  /** Changes each byte of a file's only chunk, and returns the function that undoes this. */
  async function damage(file: ObjectId | undefined): Promise<() => Promise<void>> {
    const chunk = file && (await chunks().findOne({ files_id: file }));
    if (!chunk) throw new Error('the file was not stored');
    const set = async (data: Binary) => void (await chunks().updateOne({ _id: chunk._id }, { $set: { data } }));
    await set(new Binary(Buffer.from(chunk.data.value()).map((byte) => byte ^ 1)));
    return () => set(chunk.data);
  }

  const tree = () => checkBundle(sampleBundle({ model: 'tree' }));
  const linear = () => checkBundle(sampleBundle());

  it('reads neither covers nor golden records for a load', async () => {
    for (const [bundle, beside] of [
      [tree(), 'covers'],
      [linear(), 'golden'],
    ] as const) {
      await database.dropDatabase();
      const files = await store(bundle);
      const id = files[beside];
      if (id === undefined) throw new Error(`the bundle has no ${beside}`);
      await chunks().deleteMany({ files_id: id });
      expect(await registry.use(modelId, version, run)).to.have.length(1);
      expect((await failureOf(explain())).message, beside).to.equal(changed);
      await registry.close();
    }
  });

  it('verifies covers by the digest before the first explanation, and scores without them', async () => {
    const { covers } = await store(tree());
    const undo = await damage(covers);
    expect(await registry.use(modelId, version, run)).to.have.length(1);
    expect((await failureOf(explain())).message).to.equal(changed);
    await undo();
    expect(await explain()).to.equal('tree');
    expect(registry.counts.loads).to.equal(1);
  });

  it('loads no model whose ONNX file was changed', async () => {
    const { onnx } = await store(linear());
    await damage(onnx);
    expect((await failureOf(registry.use(modelId, version, run))).message).to.equal(changed);
  });

  it('loads a model whose SHA-256 is written in capitals', async () => {
    const files = packSample(sampleParts());
    const text = String(files.get('manifest.json'));
    const capitals = text.replace(/(?<="sha256": ")[0-9a-f]{64}/, (sha256) => sha256.toUpperCase());
    expect(capitals).to.not.equal(text);
    await store(checkBundle(files.set('manifest.json', Buffer.from(capitals))));
    expect(await registry.use(modelId, version, run)).to.have.length(1);
  });
});
