import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { addMember } from '../../shared/admin/people/member-actions.js';
import { openBrowser, openPage } from '../support/admin/console-browser.js';
import { type ConsoleService, consoleService } from '../support/admin/console-service.js';
import { type IdentityProvider, identityProvider } from '../support/admin/identity-provider.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

describe('a sign-in by OIDC in a browser', function () {
  this.timeout(3 * startTimeoutMs);
  let service: ConsoleService;
  let provider: IdentityProvider;
  let browser: Browser;

  before(async function () {
    browser = await openBrowser(this);
    provider = await identityProvider(() => `${service.url}/admin/v1/session/oidc/callback`);
    service = await consoleService({
      CONSOLE_OIDC_ISSUER: provider.issuer,
      CONSOLE_OIDC_CLIENT_ID: provider.clientId,
      CONSOLE_OIDC_CLIENT_SECRET: provider.clientSecret,
    });
    const organisation = await service.newOrganisation();
    await service.act(addMember, { org_id: organisation, email: 'ada@example.com', role: 'owner' });
    provider.accounts.set('ada', { email: 'ada@example.com', email_verified: true, name: 'Ada Lindqvist' });
    provider.accounts.set('eve', { email: 'eve@example.com', email_verified: true });
  });
  after(async () => {
    await service?.leave();
    await provider?.stop();
  });

  /** A page whose `close` would fail, because the pages of the provider load a font from elsewhere. */
  async function signIn(sub: string) {
    const opened = await openPage(browser, service);
    const { page } = opened;
    await page.goto(`${service.url}/login`);
    await page.getByRole('link', { name: 'Sign in with your company account' }).click();
    await page.locator('input[name=login]').fill(sub);
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
    return opened;
  }

  it('opens the console for a member, who then adds, changes and removes another one', async () => {
    const { page, check } = await signIn('ada');
    await page.getByText('Records scored in').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click();
    await page.getByText('ada@example.com', { exact: true }).waitFor();
    await page.getByLabel('E-mail address').fill('bo@example.com');
    await page.getByRole('button', { name: 'Add member' }).click();
    await page.getByText('invited, not signed in yet').waitFor();
    await check('members');
    await page.getByLabel('Role of bo@example.com').selectOption('admin');
    await page.getByRole('button', { name: 'Remove bo@example.com' }).click();
    await page.getByLabel('Type bo@example.com to confirm').fill('bo@example.com');
    await page.getByRole('button', { name: 'Remove member' }).click();
    await page.getByText('invited, not signed in yet').waitFor({ state: 'detached' });
    await page.context().close();
  });

  itInFull('says on the sign-in page why a person was refused', async () => {
    const { page, check } = await signIn('eve');
    await page.getByText('Your e-mail address has no invitation').waitFor();
    await check('sign-in-refused');
    expect(page.url()).to.equal(`${service.url}/login?problem=not_invited`);
    await page.context().close();
  });
});
