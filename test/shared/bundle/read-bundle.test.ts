import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { bundleLimits } from '../../../shared/bundle/limits.js';
import { refusalLater } from '../../support/models/bundle-refusal.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type TarEntry, tarArchive, tarEntries, writeTarGz } from '../../support/models/tar-archive.js';

const mebibyte = 1024 * 1024;

describe('readBundle', () => {
  let folder: string;
  let archive: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bundle-test-'));
    archive = join(folder, 'sample.tar.gz');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const sample = sampleBundle({ model: 'tree' });
  const digest = checkBundle(sample).digest;

  async function writeDirectory(files: ReadonlyMap<string, Buffer>): Promise<string> {
    const directory = join(folder, 'sample');
    await mkdir(directory);
    for (const [name, bytes] of files) await writeFile(join(directory, name), bytes);
    return directory;
  }

  it('gives the same members for a directory and for archives of it', async () => {
    const directory = await writeDirectory(sample);
    const tar = promisify(execFile);
    await tar('tar', ['czf', archive, '-C', folder, 'sample']);
    await tar('tar', ['czf', join(folder, 'dot.tgz'), '-C', directory, '.']);
    await writeTarGz(join(folder, 'flat'), tarEntries(sample, ''));
    for (const path of [directory, archive, join(folder, 'dot.tgz'), join(folder, 'flat')]) {
      const files = await readBundle(path);
      expect([...files.keys()].sort(), path).to.deep.equal(['covers.f32', 'manifest.json', 'model.onnx']);
      expect(checkBundle(files).digest, path).to.equal(digest);
      expect(files.ignored, path).to.deep.equal([]);
    }
  });

  it('keeps golden records, and names the files that it ignores', async () => {
    const files = sampleBundle().set('README.md', Buffer.from('hello'));
    const directory = await writeDirectory(files);
    await mkdir(join(directory, '.git'));
    const read = await readBundle(directory);
    expect([...read.keys()].sort()).to.deep.equal(['golden.jsonl', 'manifest.json', 'model.onnx']);
    expect(read.ignored.sort()).to.deep.equal(['.git', 'README.md']);

    await writeTarGz(archive, tarEntries(files, 'sample'));
    const unpacked = await readBundle(archive);
    expect(unpacked.ignored).to.deep.equal(['README.md']);
    expect(checkBundle(unpacked).digest).to.equal(checkBundle(read).digest);
  });

  it('ignores the ._ files that macOS adds to archives', async () => {
    const entries = [
      { name: './._sample', bytes: Buffer.from('x') },
      { name: 'sample', type: 'directory' as const },
      { name: 'sample/._manifest.json', bytes: Buffer.from('x') },
      ...tarEntries(sample, 'sample'),
    ];
    await writeTarGz(archive, entries);
    const files = await readBundle(archive);
    expect(checkBundle(files).digest).to.equal(digest);
    expect(files.ignored).to.deep.equal(['._sample', '._manifest.json']);
  });

  it('keeps only the manifest when it is not JSON', async () => {
    await writeTarGz(archive, [
      { name: 'manifest.json', bytes: Buffer.from('{') },
      { name: 'model.onnx', bytes: Buffer.from('x') },
    ]);
    const files = await readBundle(archive);
    expect([...files.keys()]).to.deep.equal(['manifest.json']);
    expect(files.ignored).to.deep.equal(['model.onnx']);
  });

  type Hostile = readonly [title: string, entries: readonly TarEntry[], member: string, reason: RegExp];
  const bytes = Buffer.from('x');
  const hostile: readonly Hostile[] = [
    [
      'a path that leads out',
      [{ name: '../manifest.json', bytes }],
      '../manifest.json',
      /^leads out of the archive: pack the bundle without "\.\." in its paths$/,
    ],
    [
      'a path that leads out in its middle',
      [{ name: 'a/../../b', bytes }],
      'a/../../b',
      /^leads out of the archive: pack the bundle without "\.\." in its paths$/,
    ],
    [
      'an absolute path',
      [{ name: '/manifest.json', bytes }],
      '/manifest.json',
      /^is an absolute path: pack the bundle with relative paths$/,
    ],
    [
      'a drive letter',
      [{ name: 'C:manifest.json', bytes }],
      'C:manifest.json',
      /^is an absolute path: pack the bundle with relative paths$/,
    ],
    ['a backslash', [{ name: '..\\manifest.json', bytes }], '..\\manifest.json', /^has a backslash/],
    [
      'a path that leads out in its pax header',
      [{ name: 'manifest.json', bytes, pax: { path: '../../manifest.json' } }],
      '../../manifest.json',
      /^leads out of the archive: pack the bundle without "\.\." in its paths$/,
    ],
    [
      'a symbolic link',
      [{ name: 'manifest.json', type: 'symlink', linkname: '/etc/passwd' }],
      'manifest.json',
      /^is a symlink: only regular files are allowed$/,
    ],
    ['a hard link', [{ name: 'm', type: 'link', linkname: '/etc/passwd' }], 'm', /^is a link: only regular/],
    ['a device', [{ name: 'm', type: 'character-device' }], 'm', /^is a character-device: only regular/],
    ['a named pipe', [{ name: 'm', type: 'fifo' }], 'm', /^is a fifo: only regular/],
    [
      'a member twice',
      [
        { name: 'manifest.json', bytes },
        { name: './manifest.json', bytes },
      ],
      'manifest.json',
      /^is in the archive twice: pack it once$/,
    ],
    [
      'a nested folder',
      [{ name: 'a/b/manifest.json', bytes }],
      'a/b/manifest.json',
      /^lies in a nested folder: put all files of the bundle in one folder$/,
    ],
    [
      'an empty nested folder',
      [{ name: 'a/b', type: 'directory' }],
      'a/b',
      /^is a nested folder: put all files of the bundle in one folder$/,
    ],
    [
      'a folder beside the files',
      [
        { name: 'manifest.json', bytes },
        { name: 'b', type: 'directory' },
      ],
      'b',
      /^is a folder beside the files of the bundle: put all files of the bundle in one folder$/,
    ],
    [
      'two folders',
      [
        { name: 'a/manifest.json', bytes },
        { name: 'b/model.onnx', bytes },
      ],
      'b/model.onnx',
      /^lies in another folder than the files before it: put all files of the bundle in one folder$/,
    ],
    [
      'a manifest above its limit',
      [{ name: 'manifest.json', bytes: Buffer.alloc(8 * mebibyte + 1) }],
      'manifest.json',
      /^is 8 MiB, above the limit of 8 MiB$/,
    ],
    [
      'too many entries',
      Array.from({ length: 1001 }, (_, index) => ({ name: `${index}`, bytes })),
      '1000',
      /^is one of more than 1000 entries: remove files that the manifest does not name$/,
    ],
  ];
  for (const [title, entries, member, reason] of hostile) {
    it(`refuses an archive with ${title}`, async () => {
      await writeTarGz(archive, entries);
      const error = await refusalLater(readBundle(archive));
      expect(error.member).to.equal(member);
      expect(error.reason).to.match(reason);
    });
  }

  it('refuses an entry whose header claims 2 GB before reading it', async () => {
    const tar = await tarArchive([{ name: 'model.onnx', bytes: Buffer.alloc(4096) }]);
    await writeFile(archive, gzipSync(withClaimedSize(tar, 2 * 1024 * mebibyte)));
    const error = await refusalLater(readBundle(archive));
    expect(error.message).to.equal('model.onnx: is 2048 MiB, above the limit of 64 MiB');
  });

  it('stops inflating at the total limit, 256 MiB by default', async () => {
    expect(bundleLimits.totalBytes).to.equal(256 * mebibyte);
    const bytes = Buffer.alloc(mebibyte);
    await writeTarGz(
      archive,
      ['a', 'b', 'c'].map((name) => ({ name, bytes })),
    );
    const error = await refusalLater(readBundle(archive, { ...bundleLimits, totalBytes: 2.5 * mebibyte }));
    expect(error.message).to.equal(
      'sample.tar.gz: inflates to more than the limit of 2.5 MiB: remove files that the manifest does not name',
    );
  });

  it('stops inflating data that never becomes an entry', async () => {
    const header = await tarArchive([{ name: 'pax', bytes: Buffer.alloc(0) }]);
    await writeFile(archive, gzipSync(Buffer.concat([header, Buffer.alloc(2 * mebibyte)])));
    const error = await refusalLater(readBundle(archive, { ...bundleLimits, totalBytes: mebibyte }));
    expect(error.reason).to.equal(
      'inflates to more than the limit of 1 MiB: remove files that the manifest does not name',
    );
  });

  const broken: readonly (readonly [title: string, make: () => Promise<Buffer>, reason: RegExp])[] = [
    ['not gzip', () => tarArchive(tarEntries(sample, '')), /incorrect header check$/],
    ['empty', async () => Buffer.alloc(0), /^cannot be read as/],
    ['text within gzip', async () => gzipSync('not a tar '.repeat(100)), /Invalid tar header/],
    [
      'truncated gzip',
      async () => gzipSync(await tarArchive(tarEntries(sample, ''))).subarray(0, -20),
      /unexpected end/,
    ],
    [
      'a truncated tar',
      async () => gzipSync((await tarArchive(tarEntries(sample, ''))).subarray(0, 1000)),
      /nexpected end/,
    ],
  ];
  for (const [title, make, reason] of broken) {
    it(`refuses a file that is ${title}`, async () => {
      await writeFile(archive, await make());
      const error = await refusalLater(readBundle(archive));
      expect(error.member).to.equal('sample.tar.gz');
      expect(error.reason).to.match(reason);
    });
  }

  it('refuses a path that does not exist', async () => {
    const error = await refusalLater(readBundle(join(folder, 'nothing')));
    expect(error.message).to.equal('nothing: no such file or directory: check the path');
  });

  it('refuses a directory with a link in place of a member', async () => {
    const directory = await writeDirectory(sample);
    await rm(join(directory, 'model.onnx'));
    await symlink('/etc/hostname', join(directory, 'model.onnx'));
    const error = await refusalLater(readBundle(directory));
    expect(error.message).to.equal('model.onnx: is a symbolic link: put the file itself into the bundle');
  });

  it('refuses a directory with a folder or a named pipe in place of a member, without blocking', async () => {
    const directory = await writeDirectory(sample);
    await rm(join(directory, 'model.onnx'));
    await mkdir(join(directory, 'model.onnx'));
    expect((await refusalLater(readBundle(directory))).message).to.match(/^model.onnx: is not a regular file/);
    await rm(join(directory, 'covers.f32'));
    await rm(join(directory, 'model.onnx'), { recursive: true });
    await promisify(execFile)('mkfifo', [join(directory, 'covers.f32')]);
    expect((await refusalLater(readBundle(directory))).message).to.equal('covers.f32: is not a regular file');
  });

  it('refuses a directory with a member above its limit', async () => {
    const directory = await writeDirectory(sample);
    const error = await refusalLater(readBundle(directory, { ...bundleLimits, memberBytes: 100 }));
    expect(error.message).to.match(/^model.onnx: is \d+ bytes, above the limit of 100 bytes$/);
  });

  it('does not read a file outside the directory that the manifest names', async () => {
    await writeFile(join(folder, 'secret.onnx'), 'x');
    const text = String(sample.get('manifest.json')).replace('"model.onnx"', '"../secret.onnx"');
    const directory = await writeDirectory(new Map(sample).set('manifest.json', Buffer.from(text)));
    const files = await readBundle(directory);
    expect([...files.keys()].sort()).to.deep.equal(['covers.f32', 'manifest.json']);
  });
});

/** The archive with another size in its first header, and a checksum to match. */
function withClaimedSize(tar: Buffer, size: number): Buffer {
  const changed = Buffer.from(tar);
  changed.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  changed.fill(' ', 148, 156);
  const sum = changed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return changed;
}
