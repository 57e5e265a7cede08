import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { ConsolePage } from '../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

describe('a browser after the sign-out', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let filled: FilledOrganisation;

  before(async () => {
    filled = await filledOrganisation(site.service);
  });

  /** The page of API keys, with the secret of a new key. */
  async function withSecret(): Promise<ConsolePage & { readonly secret: string }> {
    const opened = await site.open({}, [401, 503]);
    const { page } = opened;
    await opened.signIn('owner', filled.id);
    await page.goto(`${site.service.url}/keys`);
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill('HubSpot');
    await page.getByLabel('Name').press('Enter');
    const secret = (await page.locator('.secret').textContent())?.trim() ?? '';
    expect(secret).to.match(/^leadscore_sk_/);
    return { ...opened, secret };
  }
  const signOut = (page: Page) => page.getByRole('button', { name: 'Sign out' }).click();
  const signedOut = (page: Page) => page.getByText('Open your one-time link').waitFor();

  it('shows the sign-in page behind the button Back, not the secret of a new key', async () => {
    const { page, secret, close } = await withSecret();
    await page.goto(`${site.service.url}/usage`);
    await page.getByRole('heading', { name: 'Live keys by day' }).waitFor();
    await signOut(page);
    await signedOut(page);
    for (const step of ['first', 'second']) {
      await page.goBack();
      await signedOut(page);
      expect(await page.content(), `${step} step back`).to.not.include(secret);
      expect(await page.locator('.shell').count()).to.equal(0);
    }
    await close();
  });

  itInFull('empties the other tabs at once', async () => {
    const { page, close } = await withSecret();
    const other = await page.context().newPage();
    await other.goto(`${site.service.url}/audit`);
    await other
      .getByText(/created the live key/)
      .first()
      .waitFor();
    await signOut(other);
    await signedOut(page);
    expect(await page.locator('.secret, .shell').count()).to.equal(0);
    await close();
  });

  itInFull('gives the other tabs to the person of a new sign-in at once', async () => {
    const { page, close } = await withSecret();
    const other = await page.context().newPage();
    await other.goto(`${site.service.url}/login#${await site.service.newLink('viewer', filled.id)}`);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'No such page' }).waitFor();
    expect(await page.locator('.secret').count()).to.equal(0);
    expect(await page.locator('.side-foot').textContent()).to.include('viewer');
    await close();
  });

  itInFull('empties a page that the browser keeps, and asks again who is signed in when it comes back', async () => {
    const { page, secret, close } = await withSecret();
    const leave = (name: string) =>
      page.evaluate(`dispatchEvent(new PageTransitionEvent('${name}', { persisted: true }))`);
    await leave('pagehide');
    expect(await page.content())
      .to.not.include(secret)
      .and.not.include('Acme');
    await leave('pageshow');
    await page.getByText(filled.keyName).waitFor();
    await page.context().clearCookies();
    await leave('pagehide');
    await leave('pageshow');
    await signedOut(page);
    await close();
  });

  itInFull(
    'goes on with the page of the lost session after a sign-in, and after a sign-out with the overview',
    async () => {
      const opened = await site.open({}, [401]);
      const { page } = opened;
      await opened.signIn('owner', filled.id);
      await page.goto(`${site.service.url}/usage?month=2026-11`);
      await page.getByRole('heading', { name: 'Live keys by day' }).waitFor();
      const path = () => page.evaluate('location.pathname + location.search');
      await page.context().clearCookies();
      await page.getByRole('navigation').getByRole('link', { name: 'Audit log' }).click();
      await signedOut(page);
      await opened.signIn('owner', filled.id);
      await page.getByRole('heading', { name: 'Audit log' }).waitFor();
      expect(await path()).to.equal('/audit');
      await signOut(page);
      await signedOut(page);
      await opened.signIn('owner', filled.id);
      expect(await path()).to.equal('/');
      await opened.close();
    },
  );

  it('stays at its host after a sign-in that a foreign address has begun', async () => {
    const opened = await site.open({}, [401]);
    const { page } = opened;
    await page.goto(`${site.service.url}//example.invalid/page`);
    await signedOut(page);
    await opened.signIn('owner', filled.id);
    await page.getByText('No such page').waitFor();
    expect(new URL(page.url()).origin).to.equal(new URL(site.service.url).origin);
    await opened.close();
  });

  it('shows the sign-in page, not the text of an error, at an address of the API', async () => {
    const { page, close } = await site.open({}, [401]);
    await page.goto(`${site.service.url}/admin/v1/orgs/${filled.id}/usage?format=csv`);
    await signedOut(page);
    await close();
  });

  itInFull('shows the sign-in page at the first click after the session was ended elsewhere', async () => {
    const { page, close } = await withSecret();
    await page.getByRole('button', { name: 'I stored it' }).click();
    await page.context().clearCookies();
    await page.getByRole('navigation').getByRole('link', { name: 'Usage' }).click();
    await signedOut(page);
    expect(await page.locator('.shell').count()).to.equal(0);
    await close();
  });

  itInFull(
    'says that the sign-out is not confirmed when the console does not answer, and shows nothing else',
    async () => {
      const opened = await site.open({}, [401, 503]);
      const { page } = opened;
      await opened.signIn('owner', filled.id);
      await page.route('**/admin/v1/session', (route) =>
        route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'No answer.' } } }),
      );
      await signOut(page);
      await page.getByRole('heading', { name: 'The sign-out is not confirmed' }).waitFor();
      expect(await page.locator('.shell').count()).to.equal(0);
      await opened.check('sign-out-failed');
      await page.unroute('**/admin/v1/session');
      await page.getByRole('button', { name: 'Try again' }).click();
      await signedOut(page);
      await opened.close();
    },
  );
});
