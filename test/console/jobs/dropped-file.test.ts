import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { appearances } from '../../support/admin/console-browser.js';
import { dropFile } from '../../support/admin/drop-file.js';
import { beginJob, goOnWithJob, lengthOf, openNewJob } from '../../support/admin/job-story.js';
import { sharedConsoleWithBulk } from '../../support/admin/shared-console.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { itInFull } from '../../support/tier.js';

const maxJobMs = 60_000;

describe('a file that a person drops on the console', function () {
  this.timeout(4 * startTimeoutMs);
  const site = consoleInBrowser(sharedConsoleWithBulk);
  let organisationId: string;

  before(async () => {
    organisationId = await site.service.newOrganisation();
    const bundle = checkBundle(sampleBundle());
    await createModel(site.service.database, { organisationId, bundle, now: new Date() });
  });

  it('is scored whole after the page was closed half-way through its upload', async () => {
    const file = { rows: 2_000, padding: 10 };
    const half = Math.floor(lengthOf(file) / 2);
    const story = { ...site, organisationId };
    const { page } = await beginJob(story, file, async (open) => {
      let patches = 0;
      await open.route('**/input', async (route) => {
        const request = route.request();
        if (request.method() !== 'PATCH') return await route.continue();
        patches += 1;
        // The first half arrives, and the rest never does.
        const bytes = request.postDataBuffer();
        if (patches === 1 && bytes !== null) await route.continue({ postData: bytes.subarray(0, half) });
      });
    });
    await page.getByText('(50.0 %) are stored').waitFor();
    await page.context().close();

    const { opened, offsets } = await goOnWithJob(story, file);
    expect(offsets).to.deep.equal([half]);
    await opened.page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await opened.page.getByRole('row').filter({ hasText: 'leads.csv' }).getByText('Completed').waitFor();
    await opened.check('jobs-listed');
    await opened.close();
    expect(await site.service.ledgerSum(organisationId), 'each row counts once').to.equal(2_000);
  });

  itInFull('goes on by itself after a lost connection', async () => {
    const own = await site.service.newOrganisation();
    await createModel(site.service.database, {
      organisationId: own,
      bundle: checkBundle(sampleBundle()),
      now: new Date(),
    });
    const opened = await beginJob({ ...site, organisationId: own }, { rows: 3, padding: 1 }, async (open) => {
      await open.route('**/input', (route) =>
        route.request().method() === 'PATCH' ? route.abort() : route.continue(),
      );
    });
    const { page } = opened;
    await page.getByText('The upload tries again by itself').waitFor();
    await page.unroute('**/input');
    await page.getByText('Completed').waitFor({ timeout: maxJobMs });
    await page.getByText('3 of 3 rows').waitFor();
    await opened.close();
  });

  itInFull('is not mixed with another file, and its job is canceled and deleted after its name was typed', async () => {
    const own = await site.service.newOrganisation();
    await createModel(site.service.database, {
      organisationId: own,
      bundle: checkBundle(sampleBundle()),
      now: new Date(),
    });
    const begun = await beginJob({ ...site, organisationId: own }, { rows: 5, padding: 1 }, async (open) => {
      await open.route('**/input', (route) => (route.request().method() === 'PATCH' ? undefined : route.continue()));
    });
    await begun.page.getByText('(0.0 %) are stored').waitFor();
    const address = new URL(begun.page.url()).pathname;
    await begun.page.context().close();

    const opened = await site.open(appearances[0], [401]);
    const { page } = opened;
    await opened.signIn('admin', own);
    await page.goto(`${site.service.url}${address}`);
    await page.getByText('Drop leads.csv here once more').waitFor();
    await opened.check('job-unfinished');
    await dropFile(page, { name: 'leads.csv', text: '"Lead ID,Company Size\\n1,2\\n"' });
    await page.getByRole('alert').filter({ hasText: 'is not the file of this job' }).waitFor();
    for (const [button, action] of [
      ['Cancel…', 'Cancel job'],
      ['Delete…', 'Delete job'],
    ] as const) {
      await page.getByRole('button', { name: button }).click();
      await page.getByLabel('Type leads.csv to confirm').fill('leads.csv');
      await page.getByRole('button', { name: action }).click();
    }
    await page.getByText('No jobs yet').waitFor();
    await opened.close();
  });

  itInFull(
    'is compared with the model by the text of gzip of two members, and refused when compressed twice',
    async () => {
      const own = await site.service.newOrganisation();
      await createModel(site.service.database, {
        organisationId: own,
        bundle: checkBundle(sampleBundle()),
        now: new Date(),
      });
      const opened = await openNewJob({ ...site, organisationId: own });
      const { page } = opened;
      const drop = (bytes: Buffer) =>
        dropFile(page, { name: 'leads.csv.gz', text: `Uint8Array.from(${JSON.stringify([...bytes])})` });
      const text = 'crm_id,company_size,Notes\na,1,"two\nlines"\n';
      await drop(gzipSync(gzipSync(text)));
      await page.getByRole('alert').filter({ hasText: 'compressed twice' }).waitFor();
      // The browser reads the first member alone: it ends in a quoted cell.
      await drop(Buffer.concat([gzipSync(text.slice(0, -8)), gzipSync(text.slice(-8))]));
      await page.getByText('1 of 3 fields of the model are in the file').waitFor();
      expect(await page.getByRole('alert').count()).to.equal(0);
      await page.getByRole('button', { name: 'Score this file' }).click();
      await page.getByText('Completed').waitFor({ timeout: maxJobMs });
      await page.getByText('1 of 1 rows').waitFor();
      await opened.close();
    },
  );
});
