import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Binary, type Db, MongoClient, ObjectId } from 'mongodb';
import { startMongo } from '../../../../scripts/servers/mongo-server.js';
import type { LocalServer } from '../../../../scripts/servers/server-process.js';
import { type CheckedBundle, checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { BundleStorage } from '../../../../shared/store/models/bundle-storage.js';
import {
  listVersions,
  loadBundle,
  loadManifest,
  loadModel,
  loadStoredManifest,
  type ModelVersion,
} from '../../../../shared/store/models/model-versions.js';
import { storeVersion, VersionTaken } from '../../../../shared/store/models/store-version.js';
import { failureOf } from '../../../support/failure-of.js';
import { freeze } from '../../../support/faults/stall.js';
import { packSample, type SampleOptions, sampleBundle, sampleParts } from '../../../support/models/sample-bundle.js';
import { freshDatabases } from '../../../support/service/servers.js';

const organisationId = 'org_1';
const modelId = 'mdl_1';
const now = new Date('2026-03-01T00:00:00Z');

describe('model versions', () => {
  let client: MongoClient;
  let database: Db;

  before(async () => {
    const { mongoUrl } = await freshDatabases();
    client = await MongoClient.connect(mongoUrl);
    database = client.db();
  });
  beforeEach(() => database.dropDatabase());
  after(async () => {
    await database.dropDatabase();
    await client.close();
  });

  const sample = (options?: SampleOptions): CheckedBundle => checkBundle(sampleBundle(options));
  const store = (bundle: CheckedBundle, model = modelId) =>
    storeVersion({ database, organisationId, modelId: model, bundle, now });
  const count = (collection: string) => database.collection(collection).countDocuments();

  async function expectStored(expected: { versions: number; files: number }): Promise<void> {
    expect(await count('model_versions'), 'versions').to.equal(expected.versions);
    expect(await count('bundles.files'), 'files').to.equal(expected.files);
    const ids = (await database.collection('bundles.files').find().toArray()).map(({ _id }) => _id);
    const orphans = await database.collection('bundles.chunks').countDocuments({ files_id: { $nin: ids } });
    expect(orphans, 'chunks without a file').to.equal(0);
  }

  it('loads a version as it was stored', async () => {
    for (const bundle of [sample(), sample({ model: 'tree', version: '2' })]) {
      expect(await store(bundle)).to.deep.equal({ stored: true });
      const { version } = bundle.manifest;
      expect(await loadManifest(database, modelId, version)).to.deep.equal(bundle.manifest);
      const stored = await loadBundle(database, modelId, version);
      expect(stored?.manifest).to.deep.equal(bundle.manifest);
      expect(stored?.digest).to.equal(bundle.digest);
      expect(stored?.onnx.equals(bundle.onnx)).to.equal(true);
      expect(stored?.covers).to.deep.equal(bundle.covers);
      expect(stored?.golden).to.deep.equal(bundle.golden);
      const model = await loadModel(database, modelId, version);
      expect(model).to.have.all.keys('manifest', 'onnx');
      expect(model?.manifest).to.deep.equal(bundle.manifest);
      expect(model?.onnx.equals(bundle.onnx)).to.equal(true);
    }
    await expectStored({ versions: 2, files: 4 });
    const document = await database.collection<{ _id: string }>('model_versions').findOne({ _id: 'mdl_1:1.0.0' });
    expect(document).to.deep.include({
      model_id: modelId,
      version: '1.0.0',
      organisation_id: organisationId,
    });
    expect(document).to.deep.include({ imported_at: now });
  });

  it('returns the stored explain method, or the one that the manifest promises', async () => {
    const linear = { kind: 'linear', means: [0, 0, 0, 0, 0, 0] } as const;
    const baseline = { kind: 'baseline', values: linear.means } as const;
    const methodOf = async (version: string) => (await loadStoredManifest(database, modelId, version))?.explainMethod;
    const ids = { database, organisationId, modelId, now };
    for (const explainMethod of ['tree', 'linear', 'occlusion'] as const) {
      await storeVersion({ ...ids, bundle: sample({ version: explainMethod }), explainMethod });
      expect(await methodOf(explainMethod)).to.equal(explainMethod);
    }
    await store(sample({ version: '1', model: 'tree' }));
    await store(sample({ version: '2', manifest: { explain: linear } }));
    await store(sample({ version: '3', manifest: { explain: baseline } }));
    const { explain: _explain, ...manifest } = sampleParts({ version: '4' }).manifest;
    await store(checkBundle(packSample({ ...sampleParts(), manifest })));
    const promised = await Promise.all(['1', '2', '3', '4', '5'].map(methodOf));
    expect(promised).to.deep.equal(['tree', 'linear', 'occlusion', 'occlusion', undefined]);
  });

  it('returns undefined for a version that is not stored', async () => {
    await store(sample());
    for (const [model, version] of [
      [modelId, '2'],
      ['mdl_2', '1.0.0'],
      ['mdl_1:1', '0.0'],
    ] as const) {
      expect(await loadManifest(database, model, version)).to.equal(undefined);
      expect(await loadBundle(database, model, version)).to.equal(undefined);
      expect(await loadModel(database, model, version)).to.equal(undefined);
    }
  });

  it('loads a model of many chunks', async () => {
    const parts = sampleParts();
    const floatData = Array.from({ length: 900_000 }, (_, index) => index % 1000);
    parts.model.graph.initializer.push({ name: 'unused', dims: [floatData.length], dataType: 1, floatData });
    const bundle = checkBundle(packSample(parts));
    expect(bundle.onnx.length).to.be.above(3 * 1024 * 1024);
    await store(bundle);
    expect((await loadBundle(database, modelId, '1.0.0'))?.onnx.equals(bundle.onnx)).to.equal(true);
  });

  it('keeps manifest keys with database operators, and a byte order mark', async () => {
    const parts = sampleParts();
    const aliases = '{"$where":"Webinar","a.b":"Webinar","__proto__":"Referral","_bsontype":"Webinar","":"Webinar"}';
    const files = packSample(parts);
    const text = String(files.get('manifest.json')).replace(/\{\s*"Web seminar": "Webinar"\s*\}/, aliases);
    const bundle = checkBundle(files.set('manifest.json', Buffer.from(`\ufeff${text}`)));
    expect(bundle.manifest.features[2]).to.have.deep.property('category_aliases', JSON.parse(aliases));
    await store(bundle);
    const stored = await loadBundle(database, modelId, '1.0.0');
    expect(JSON.stringify(stored?.manifest)).to.equal(JSON.stringify(bundle.manifest));
    expect(await loadManifest(database, modelId, '1.0.0')).to.deep.equal(bundle.manifest);
  });

  it('stores a version once when it is imported twice', async () => {
    await store(sample());
    expect(await store(sample())).to.deep.equal({ stored: false });
    await expectStored({ versions: 1, files: 2 });
  });

  it('rejects another bundle under a stored version, and names the remedy', async () => {
    await store(sample());
    const error = await failureOf(store(sample({ intercept: 0.125 })));
    expect(error).to.be.instanceOf(VersionTaken);
    expect(error.message).to.match(
      /^Version "1.0.0" of mdl_1 is stored already .* give the manifest another "version"/,
    );
    expect((await loadBundle(database, modelId, '1.0.0'))?.digest).to.equal(sample().digest);
    await expectStored({ versions: 1, files: 2 });
  });

  it('stores a version once when it is imported five times concurrently', async () => {
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => store(sample())));
    expect(outcomes.filter(({ stored }) => stored)).to.have.length(1);
    await expectStored({ versions: 1, files: 2 });
    expect((await loadBundle(database, modelId, '1.0.0'))?.digest).to.equal(sample().digest);
  });

  it('stores one of several bundles that are imported concurrently as one version', async () => {
    const bundles = [0, 1, 2, 3].map((step) => sample({ intercept: step / 8 }));
    const outcomes = await Promise.allSettled(bundles.map((bundle) => store(bundle)));
    const winners = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []));
    expect(winners).to.have.length(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(VersionTaken);
    }
    await expectStored({ versions: 1, files: 2 });
    const winner = bundles[winners[0] ?? -1];
    expect((await loadBundle(database, modelId, '1.0.0'))?.digest).to.equal(winner?.digest);
  });

  it('leaves no files when one of them cannot be stored', async () => {
    await database.createCollection('bundles.files', { validator: { filename: { $not: /golden/ } } });
    expect((await failureOf(store(sample()))).message).to.match(/failed validation/);
    await expectStored({ versions: 0, files: 0 });
    expect(await count('bundles.chunks')).to.equal(0);
  });

  it('leaves no files when the document of the version cannot be stored', async () => {
    await database.createCollection('model_versions', { validator: { never: { $exists: true } } });
    expect((await failureOf(store(sample()))).message).to.match(/failed validation/);
    await expectStored({ versions: 0, files: 0 });
    expect(await count('bundles.chunks')).to.equal(0);
    expect(await loadManifest(database, modelId, '1.0.0')).to.equal(undefined);
  });

  it('rejects a stored bundle whose chunks were changed or lost', async () => {
    await store(sample());
    const chunks = database.collection<{ data: Binary }>('bundles.chunks');
    const document = await database.collection<Pick<ModelVersion, '_id' | 'files'>>('model_versions').findOne({});
    const chunk = await chunks.findOne({ files_id: document?.files.onnx });
    if (chunk === null) throw new Error('no chunk was stored');
    const changed = Buffer.from(chunk.data.value()).map((byte) => byte ^ 1);
    await chunks.updateOne({ _id: chunk._id }, { $set: { data: new Binary(changed) } });
    for (const load of [loadBundle, loadModel])
      expect((await failureOf(load(database, modelId, '1.0.0'))).message).to.equal(
        'The stored files of mdl_1:1.0.0 do not match its digest: import it under a new version',
      );
    await chunks.deleteMany({});
    for (const load of [loadBundle, loadModel]) await failureOf(load(database, modelId, '1.0.0'));
    await database.collection('bundles.files').deleteMany({});
    for (const load of [loadBundle, loadModel]) await failureOf(load(database, modelId, '1.0.0'));
  });

  it('lists versions with the last import first', async () => {
    for (const [index, version] of ['1', '10', '2'].entries()) {
      const imported = new Date(now.getTime() + index);
      await storeVersion({ database, organisationId, modelId, bundle: sample({ version }), now: imported });
    }
    await store(sample(), 'mdl_10');
    const listed = await listVersions(database, modelId);
    expect(listed.map(({ version }) => version)).to.deep.equal(['2', '10', '1']);
    expect(listed[0]).to.not.have.property('manifest');
    expect(await listVersions(database, 'mdl_2')).to.deep.equal([]);
  });

  it('removes the files of killed imports at a later import', async () => {
    await store(sample());
    const hoursAgo = (hours: number) => ObjectId.createFromTime(Date.now() / 1000 - hours * 3600);
    const storage = new BundleStorage(database, { timeoutMs: 5000 });
    const bytes = Buffer.from('x');
    await storage.upload({ id: hoursAgo(2), filename: 'mdl_7:1/model.onnx', bytes });
    await storage.upload({ id: hoursAgo(0.5), filename: 'mdl_8:1/model.onnx', bytes });
    const chunks = database.collection('bundles.chunks');
    await chunks.insertOne({ files_id: hoursAgo(3), n: 0, data: new Binary(bytes) });

    await store(sample(), 'mdl_2');
    await expectStored({ versions: 2, files: 5 });
    expect(await database.collection('bundles.files').countDocuments({ filename: /^mdl_7/ })).to.equal(0);
    for (const model of [modelId, 'mdl_2']) expect(await loadBundle(database, model, '1.0.0')).to.be.an('object');
  });

  it('removes a version without a model, which a killed import left, with its files at a later import', async () => {
    const versions = database.collection<{ _id: string; files: object }>('model_versions');
    const files = database.collection('bundles.files');
    /** Moves a version and its file into the past, like an import of hours ago. */
    const age = async (model: string, hours: number): Promise<void> => {
      const onnx = ObjectId.createFromTime(Date.now() / 1000 - hours * 3600);
      await new BundleStorage(database, { timeoutMs: 5000 }).upload({
        ...{ id: onnx, filename: `${model}:1.0.0/model.onnx`, bytes: Buffer.from('x') },
      });
      await versions.updateOne({ _id: `${model}:1.0.0` }, { $set: { files: { onnx } } });
    };
    for (const [model, hours] of [
      ['mdl_killed', 2],
      ['mdl_begun', 0.5],
      ['mdl_kept', 2],
    ] as const) {
      await store(sample(), model);
      await age(model, hours);
    }
    const kept = { _id: 'mdl_kept', deleted_at: now };
    await database.collection<typeof kept>('models').insertOne(kept);

    await store(sample(), 'mdl_later');
    const left = (await versions.find().toArray()).map(({ _id }) => _id);
    expect(left).to.have.members(['mdl_begun:1.0.0', 'mdl_kept:1.0.0', 'mdl_later:1.0.0']);
    const killed = await files.find({ filename: /^mdl_killed/, length: 1 }).toArray();
    expect(killed).to.deep.equal([]);
    expect(await files.countDocuments({ filename: /^mdl_kept/, length: 1 })).to.equal(1);
  });
});

describe('bundle storage', () => {
  let folder: string;
  let server: LocalServer;
  let client: MongoClient;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bundle-storage-'));
    server = await startMongo({ directory: folder });
    client = await MongoClient.connect(server.url);
  });
  after(async () => {
    process.kill(server.pid, 'SIGCONT');
    await client.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  it('rejects upload, download and removal after the timeout while MongoDB is frozen', async () => {
    const database = client.db('frozen');
    const storage = new BundleStorage(database, { timeoutMs: 400 });
    const file = { id: new ObjectId(), filename: 'mdl_1:1/model.onnx', bytes: Buffer.alloc(3 * 1024 * 1024) };
    await new BundleStorage(database, { timeoutMs: 20_000 }).upload(file); // on a busy machine, longer than 400 ms
    await freeze(server.pid);
    const startedMs = performance.now();
    const another = { ...file, id: new ObjectId() };
    const attempts = [storage.upload(another), storage.download(file.id), storage.remove([file.id])];
    const errors = await Promise.all(attempts.map(failureOf));
    expect(performance.now() - startedMs).to.be.within(300, 10_000);
    for (const error of errors) expect(error.message).to.include('MongoDB did not answer in time');
    process.kill(server.pid, 'SIGCONT');
  });
});
