import { expect } from 'chai';
import { showOrganisation } from '../../../shared/admin/organisations/read-organisations.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('the deletion of an organisation in the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();

  it('is ordered by typing the name, ends the session of a member, and is taken back among all organisations', async () => {
    const name = 'Goes away';
    const id = await site.service.newOrganisation(name);
    const deletionOf = async () => (await site.service.act(showOrganisation, { org_id: id })).deletion;
    const owner = await site.open();
    await owner.signIn('owner', id);
    const operator = await site.open();
    const { page } = operator;
    await operator.signIn('operator');
    await page.goto(`${site.service.url}/o/${id}/settings`);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: 'Delete', exact: true });
    await dialog.getByLabel(`Type ${name} to confirm`).fill('Goes');
    expect(await button.isDisabled()).to.equal(true);
    await dialog.getByLabel(`Type ${name} to confirm`).fill(name);
    expect(await deletionOf()).to.equal(undefined);
    await dialog.getByLabel('Days until the removal').fill('3');
    await button.click();
    await page.getByRole('button', { name: 'Undelete' }).waitFor();
    expect((await deletionOf())?.by).to.be.a('string');
    await operator.check('settings-deletion');
    expect((await owner.page.request.get(`${site.service.url}/admin/v1/orgs/${id}`)).status()).to.equal(401);
    await owner.close();

    await page.goto(`${site.service.url}/orgs`);
    const receipts = page.getByRole('region', { name: 'Deletions' });
    await receipts.getByRole('row').filter({ hasText: id }).getByText('To be deleted').waitFor();
    await operator.check('orgs-deletions');
    await receipts.getByRole('button', { name: `Undelete ${id}` }).click();
    await receipts.getByText(id).waitFor({ state: 'detached' });
    expect(await deletionOf()).to.equal(undefined);
    await operator.close();
  });
});
