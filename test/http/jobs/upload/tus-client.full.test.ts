import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';
import { expectWholeUpload } from './tus-upload.js';

const megabyte = 1_000_000;

describe('tus-js-client with 50 MB', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  const large = { bytes: 50 * megabyte, cutAt: [13.3 * megabyte, 37.7 * megabyte] };

  it('uploads a file in pieces of 5 MB through two broken connections', async function () {
    this.timeout(120_000);
    await expectWholeUpload(own, { ...large, chunkSize: 5 * megabyte });
  });

  it('uploads a file in one request that breaks twice', async function () {
    this.timeout(120_000);
    await expectWholeUpload(own, large);
  });
});
