import { expect } from 'chai';
import { refused } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { countedAtRest, nothingCounted } from '../quota/counted.js';

const lead = { company_size: 120 };

describe('500 of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('returns 500 with Retry-After and counts nothing when the version of the model is not stored', async () => {
    const own = await workspace(service);
    await service.stores.models.update(own.model._id, { version: 'never imported' });
    const reply = await own.score([lead]);
    refused(reply, '500 internal_error');
    expect(reply.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    expect(await countedAtRest(own)).to.deep.equal(nothingCounted);
  });

  it('returns 500 and releases the reserved records when the file of the model is lost', async () => {
    const own = await workspace(service, { bundle: sampleBundle({ name: 'A score without a file' }) });
    await service.stores.database.collection('bundles.chunks').deleteMany({
      files_id: { $in: await fileIdsOf(own) },
    });
    refused(await own.score([lead]), '500 internal_error');
    refused(await own.score([lead, lead]), '500 internal_error');
    expect(await countedAtRest(own)).to.deep.equal(nothingCounted);
  });
});

async function fileIdsOf(own: TestWorkspace): Promise<unknown[]> {
  const versions = own.service.stores.database.collection<{ files: Record<string, unknown> }>('model_versions');
  const found = await versions.find({ model_id: own.model._id }).toArray();
  return found.flatMap((version) => Object.values(version.files));
}
