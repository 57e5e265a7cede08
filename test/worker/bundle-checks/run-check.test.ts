import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { BundleFiles } from '../../../shared/bundle/bundle-files.js';
import { runCheck } from '../../../worker/bundle-checks/run-check.js';
import { crashingBundle, hangingBundle } from '../../support/faults/fault-models.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { tarEntries, writeTarGz } from '../../support/models/tar-archive.js';

describe('runCheck', () => {
  let directory: string;
  let path: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-check-'));
    path = join(directory, 'bundle.tar.gz');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const checked = async (files: BundleFiles, timeoutMs?: number) => {
    await writeTarGz(path, tarEntries(files, ''));
    return runCheck({ path, nowMs: 0, timeoutMs });
  };

  it('returns the manifest, the explain method and the golden records', async () => {
    const { read, result } = await checked(sampleBundle());
    expect(read?.manifest).to.deep.equal({ name: 'Sample score', version: '1.0.0', family: 'forward', features: 3 });
    expect(read?.digest).to.match(/^[0-9a-f]{64}$/);
    expect(result).to.include({ explainMethod: 'linear' });
    expect('golden' in result && result.golden).to.include({ records: 3, passed: true });
  });

  it('refuses a bundle whose model crashes its process', async () => {
    const { result } = await checked(crashingBundle());
    expect(result).to.deep.equal({
      problem: 'The model ended the process that checked it (SIGSEGV). Run it in onnxruntime before the export.',
      isRefusal: true,
    });
  });

  it('refuses a bundle whose model does not end, at the time limit', async () => {
    const { result } = await checked(hangingBundle(), 3_000);
    expect(result).to.deep.equal({
      problem: 'The check took longer than 3 seconds. Train a smaller model, or give fewer golden records.',
      isRefusal: true,
    });
  });

  it('refuses a path without a bundle', async () => {
    const { read, result } = await runCheck({ path: join(directory, 'absent'), nowMs: 0 });
    expect(read).to.equal(undefined);
    expect(result).to.include({ isRefusal: true }).and.to.have.property('problem').that.includes('no such file');
  });

  it('ends when its signal is aborted', async () => {
    await writeTarGz(path, tarEntries(hangingBundle(), ''));
    const stopping = new AbortController();
    const check = runCheck({ path, nowMs: 0, signal: stopping.signal, onRead: () => stopping.abort() });
    const error = await check.then(
      () => expect.fail('the check went on'),
      (thrown: unknown) => thrown as Error,
    );
    expect(error.name).to.equal('AbortError');
  });
});
