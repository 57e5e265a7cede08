import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { Upload, type UploadOptions } from 'tus-js-client';
import type { TestWorkspace } from '../../../support/service/workspace.js';
import { inputCall, jobOf, newJob, storedUpload, tus } from '../job-calls.js';
import { CuttingProxy } from './cutting-proxy.js';

/**
 * Uploads random bytes by tus-js-client, through connections that break, and asserts that all of them are stored.
 * @param cutAt bytes after each of which a connection breaks
 * @param options of the client, besides its defaults
 */
export async function expectWholeUpload(
  own: TestWorkspace,
  { bytes, cutAt, ...options }: { readonly bytes: number; readonly cutAt: readonly number[] } & UploadOptions,
): Promise<void> {
  const file = randomBytes(bytes);
  const { job_id: jobId } = await newJob(own, { input: { bytes } });
  const proxy = await CuttingProxy.start(own.service.url(), cutAt);
  try {
    await upload(file, {
      uploadUrl: `${proxy.url}/v1/jobs/${jobId}/input`,
      headers: { Authorization: `Bearer ${own.live.secret}` },
      ...options,
    });
    expect(proxy.cuts).to.equal(cutAt.length);
  } finally {
    await proxy.stop();
  }
  expect(jobOf(await own.call(`/v1/jobs/${jobId}`))).to.deep.include({
    state: 'reading',
    input: { format: 'csv', bytes_received: bytes, bytes },
  });
  expect(digest(await storedUpload(own.service, jobId))).to.equal(digest(file));
  const head = await inputCall(own, jobId, 'HEAD', { headers: tus });
  expect(head.headers.get('upload-offset')).to.equal(String(bytes));
}

const upload = (file: Buffer, options: UploadOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    new Upload(file, { ...options, onSuccess: () => resolve(), onError: reject }).start();
  });

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
