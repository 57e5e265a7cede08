import { access, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { BundleFiles } from '../../shared/bundle/bundle-files.js';
import { callCli } from '../scripts/cli/cli-call.js';
import { type OperatorDesk, operatorDesk } from '../scripts/cli/operator-desk.js';
import { bestMs, durationMs } from '../support/beats.js';
import { packSample, type SampleParts, sampleBundle, sampleParts } from '../support/models/sample-bundle.js';
import { floatTensor, type SampleAttribute, type SampleTensor } from '../support/models/sample-onnx.js';
import { tarArchive, tarEntries, writeTarGz } from '../support/models/tar-archive.js';

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** A tensor whose values are in a file outside the model. */
const outside: SampleTensor = {
  name: 'outside',
  dims: [1],
  dataType: 1,
  dataLocation: 1,
  externalData: [{ key: 'location', value: '../../../etc/passwd' }],
};

function spoilt(spoil: (parts: SampleParts) => void): BundleFiles {
  const parts = sampleParts();
  spoil(parts);
  return packSample(parts);
}

const withAttribute = (attribute: SampleAttribute) =>
  spoilt(({ model }) => {
    model.graph.node[0]?.attribute.push(attribute);
  });

/** Sets the size in the first header of an archive to more bytes than follow. */
function claiming(tar: Buffer, bytes: number): Buffer {
  const claimed = Buffer.from(tar);
  claimed.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  claimed.fill(' ', 148, 156);
  const sum = claimed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  claimed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return claimed;
}

describe('leadscore model check and import', () => {
  let desk: OperatorDesk;
  let directory: string;
  let archive: string;
  let organisation: string;

  before(async () => {
    desk = await operatorDesk();
    organisation = await desk.newOrganisation();
  });
  after(() => desk.leave());
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-hostile-'));
    archive = join(directory, 'bundle.tar.gz');
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  /** The number of documents of each collection that has some. */
  async function documentCounts(): Promise<Record<string, number>> {
    const { database } = desk.stores;
    const counts: Record<string, number> = {};
    for (const { name } of await database.listCollections().toArray()) {
      const count = await database.collection(name).countDocuments();
      if (count > 0) counts[name] = count;
    }
    return counts;
  }

  /** Asserts that `check` and `import` refuse the archive for this reason and store nothing. */
  async function expectRefused(reason: RegExp): Promise<void> {
    const before = await documentCounts();
    for (const words of [
      ['model', 'check', archive],
      ['model', 'import', archive, '--org', organisation],
    ]) {
      const { exitCode, stdout, stderr } = await callCli(words, desk.settings);
      expect(exitCode, words.join(' ')).to.equal(1);
      expect(`${stdout}${stderr}`.replace(/\s+/g, ' ')).to.match(reason);
    }
    expect(await documentCounts()).to.deep.equal(before);
    expect(await readdir(directory)).to.deep.equal(['bundle.tar.gz']);
  }

  it('accepts the sample bundle', async () => {
    await writeTarGz(archive, tarEntries(sampleBundle(), 'sample'));
    const { exitCode, stderr } = await callCli(['model', 'check', archive], desk.settings);
    expect(stderr).to.equal('');
    expect(exitCode).to.equal(0);
  });

  it('refuses a bundle with a path out of the archive, and writes nothing there', async () => {
    await writeTarGz(archive, [
      ...tarEntries(sampleBundle(), ''),
      { name: '../written-outside', bytes: Buffer.from('x') },
    ]);
    await expectRefused(/leads out of the archive/);
    await access(join(directory, '..', 'written-outside')).then(
      () => expect.fail('the file outside was written'),
      () => undefined,
    );
  });

  it('refuses a bundle with a link in place of a member', async () => {
    const entries = tarEntries(sampleBundle(), '').filter(({ name }) => name !== 'model.onnx');
    const link = { name: 'model.onnx', type: 'symlink', linkname: '/etc/passwd' } as const;
    await writeTarGz(archive, [...entries, link]);
    await expectRefused(/only regular files are allowed/);
  });

  it('refuses a bundle that inflates to more than 256 MiB, without holding it in memory', async function () {
    this.timeout(60_000);
    const header = await tarArchive([{ name: 'pax', bytes: Buffer.alloc(0) }]);
    await writeFile(archive, gzipSync(Buffer.concat([header, Buffer.alloc(257 * mebibyte)]), { level: 1 }));
    const before = process.memoryUsage().rss;
    await expectRefused(/inflates to more than the limit of 256 MiB/);
    expect(process.memoryUsage().rss - before).to.be.below(200 * mebibyte);
  });

  it('refuses a bundle whose header claims 2 GB within 5 s', async () => {
    const tar = await tarArchive([{ name: 'model.onnx', bytes: Buffer.alloc(4096) }]);
    await writeFile(archive, gzipSync(claiming(tar, 2 * gibibyte)));
    const refuse = () => expectRefused(/is 2048 MiB, above the limit of 64 MiB/);
    expect(await bestMs(5_000, () => durationMs(refuse))).to.be.below(5_000);
  });

  const models: readonly [string, () => BundleFiles, RegExp][] = [
    [
      'an initializer in another file',
      () => spoilt(({ model }) => model.graph.initializer.push(outside)),
      /keeps its data in another file/,
    ],
    [
      'a constant in another file',
      () => withAttribute({ name: 'value', type: 4, t: outside }),
      /keeps its data in another file/,
    ],
    [
      'one of several tensors in another file',
      () => withAttribute({ name: 'values', type: 9, tensors: [floatTensor('inside'), outside] }),
      /keeps its data in another file/,
    ],
    [
      'the indices of a sparse tensor in another file',
      () =>
        withAttribute({
          name: 'sparse_value',
          type: 11,
          sparseTensor: { values: floatTensor('values'), indices: outside },
        }),
      /keeps its data in another file/,
    ],
    [
      'a sparse initializer in another file',
      () =>
        spoilt(({ model }) => {
          model.graph.sparseInitializer = [{ values: outside, indices: floatTensor('indices') }];
        }),
      /keeps its data in another file/,
    ],
    [
      'a tensor in another file within a subgraph',
      () =>
        withAttribute({
          name: 'then_branch',
          type: 5,
          g: { name: 'inner', node: [], input: [], output: [], initializer: [outside] },
        }),
      /keeps its data in another file/,
    ],
    [
      'an unknown operator',
      () =>
        spoilt(({ model }) => {
          for (const node of model.graph.node) node.opType = 'RunAnything';
        }),
      /RunAnything/,
    ],
    [
      'an operator of another domain',
      () =>
        spoilt(({ model }) => {
          model.opsetImport.push({ domain: 'com.example', version: 1 });
          for (const node of model.graph.node) Object.assign(node, { domain: 'com.example' });
        }),
      /com\.example/,
    ],
    [
      'a function',
      () =>
        spoilt(({ model }) => {
          model.functions = [{ name: 'Own', domain: 'local' }];
        }),
      /function/i,
    ],
  ];
  for (const [title, files, reason] of models) {
    it(`refuses a bundle whose model has ${title}`, async () => {
      await writeTarGz(archive, tarEntries(files(), ''));
      await expectRefused(reason);
    });
  }
});
