import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { openBrowser } from '../../support/admin/console-browser.js';
import { beginJob, goOnWithJob } from '../../support/admin/job-story.js';
import { sharedConsoleWithBulk } from '../../support/admin/shared-console.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

const pieceBytes = 8 * 1024 * 1024;

describe('a file of several pieces in the console', function () {
  this.timeout(8 * startTimeoutMs);

  it('is scored whole, each of its 20,000 rows once, after the page was closed between two pieces', async function () {
    const browser = await openBrowser(this);
    const service = await sharedConsoleWithBulk();
    const organisationId = await service.newOrganisation();
    const bundle = checkBundle(sampleBundle());
    await createModel(service.database, { organisationId, bundle, now: new Date() });
    await service.database
      .collection<{ _id: string }>('orgs')
      .updateOne({ _id: organisationId }, { $set: { limit: 100_000 } });
    const file = { rows: 20_000, padding: 1_000 };
    const { page } = await beginJob({ browser, service, organisationId }, file, async (open) => {
      await open.route('**/input', (route) => {
        const isSecond = route.request().headers()['upload-offset'] === String(pieceBytes);
        return isSecond ? undefined : route.continue();
      });
    });
    await page.getByText('8.4 MB of').waitFor();
    await page.context().close();
    const { opened, offsets } = await goOnWithJob({ browser, service, organisationId }, file);
    expect(offsets).to.deep.equal([pieceBytes, 2 * pieceBytes]);
    await opened.close();
    expect(await service.ledgerSum(organisationId)).to.equal(file.rows);
  });
});
