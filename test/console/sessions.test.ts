import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { appearances } from '../support/admin/console-browser.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

describe('the sessions of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();

  const list = (page: Page, title: string) => page.getByRole('region', { name: title, exact: true });
  const rows = async (page: Page, title: string): Promise<string[]> => {
    await list(page, title).getByRole('row').nth(1).waitFor();
    const found = await list(page, title).getByRole('row').allInnerTexts();
    return found.slice(1).map((text) => text.replaceAll(/\s+/g, ' '));
  };

  itInFull('are seen and ended by an owner, whose own browser goes on', async () => {
    const organisationId = await site.service.newOrganisation();
    const [owner, viewer] = [await site.open(), await site.open()];
    await viewer.signIn('viewer', organisationId);
    await owner.signIn('owner', organisationId);
    const { page } = owner;
    await page.getByRole('navigation').getByRole('link', { name: 'Sessions' }).click();
    const [own, ...others] = await rows(page, 'Your sessions');
    expect([own, others.length]).to.satisfy(
      ([text, count]: [string, number]) => /^Ada owner this browser .* UTC 127\.0\.0\.1/.test(text) && count === 0,
    );
    expect(await rows(page, 'Sessions of this organisation')).to.have.length(2);
    await owner.check('sessions');
    await list(page, 'Sessions of this organisation').getByRole('button', { name: 'End the session of Ada' }).click();
    await page.getByRole('button', { name: 'End the session of Ada' }).waitFor({ state: 'detached' });
    await viewer.page.getByRole('navigation').getByRole('link', { name: 'Usage' }).click();
    await viewer.page.getByText('Open your one-time link').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Audit log' }).click();
    await page
      .getByText(/ended a session of/)
      .first()
      .waitFor();
    await owner.close();
    await viewer.close();
  });

  itInFull('are seen and ended by their own person, in another browser', async () => {
    const organisationId = await site.service.newOrganisation();
    const [one, other] = [await site.open(), await site.open()];
    await one.signIn('viewer', organisationId);
    await other.signIn('viewer', organisationId);
    await one.page.goto(`${site.service.url}/sessions`);
    expect(await rows(one.page, 'Your sessions')).to.have.length(2);
    expect(await list(one.page, 'Sessions of this organisation').count()).to.equal(0);
    await one.page.getByRole('button', { name: 'End the session of Ada' }).click();
    await one.page.getByRole('button', { name: 'End the session of Ada' }).waitFor({ state: 'detached' });
    await other.page.reload();
    await other.page.getByText('Open your one-time link').waitFor();
    await one.close();
    await other.close();
  });

  for (const appearance of appearances)
    itInFull(
      `are shown to an owner and to operators, ${appearance.colorScheme} at ${appearance.viewport.width}`,
      async () => {
        const organisationId = await site.service.newOrganisation();
        const [owner, operator] = [await site.open(appearance), await site.open(appearance)];
        await site.service.signIn('admin', organisationId);
        await owner.signIn('owner', organisationId);
        await operator.signIn('operator');
        await owner.page.goto(`${site.service.url}/sessions`);
        expect((await rows(owner.page, 'Sessions of this organisation')).join()).to.not.include('operator');
        await owner.check('sessions');
        await operator.page.goto(`${site.service.url}/operator-sessions`);
        expect((await rows(operator.page, 'Operators')).every((text) => text.startsWith('Ada operator'))).to.equal(
          true,
        );
        await operator.check('operator-sessions');
        await operator.page.goto(`${site.service.url}/o/${organisationId}/sessions`);
        expect(await rows(operator.page, 'Sessions of this organisation')).to.have.length(2);
        await owner.close();
        await operator.close();
      },
    );
});
