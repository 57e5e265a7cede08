import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { ModelStore } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import type { ConsoleService } from '../../support/admin/console-service.js';
import { sharedConsole } from '../../support/admin/shared-console.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('the comparison of a candidate over HTTP', () => {
  let service: ConsoleService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedConsole();
  });

  it('is read by a viewer of the organisation, and unknown to others', async () => {
    const [own, other] = [await service.newOrganisation(), await service.newOrganisation('Beta')];
    const bundle = checkBundle(sampleBundle());
    const now = new Date();
    const { _id: model } = await createModel(service.database, { organisationId: own, bundle, now });
    const candidate = { version: '1.0.0', since: now, by: 'a test' };
    await new ModelStore(service.database).update(model, { candidate });
    const read = async (of: string, inside: string) =>
      await (await service.signIn('viewer', of))('GET', `/admin/v1/orgs/${inside}/models/${model}/comparison`);
    const { status, body } = await read(own, own);
    expect(status).to.equal(200);
    expect(body).to.deep.include({ model_id: model, base: '1.0.0', candidate: '1.0.0', comparison: null });
    expect((await read(other, own)).status, 'of its address').to.equal(404);
    expect((await read(other, other)).status, 'below another organisation').to.equal(404);
    await new ModelStore(service.database).update(model, {}, ['candidate']);
    const none = await read(own, own);
    expect(none.status).to.equal(404);
    expect(JSON.stringify(none.body)).to.include('has no candidate');
  });
});
