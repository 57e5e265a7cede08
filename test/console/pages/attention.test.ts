import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { appearances } from '../../support/admin/console-browser.js';
import { type TroubledOrganisation, troubledOrganisation } from '../../support/admin/troubles/troubled-organisation.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { layoutFaults, layoutWidths } from '../../support/browser/layout-faults.js';
import { eventually } from '../../support/eventually.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { itInFull } from '../../support/tier.js';

/** A click on the overview, the element to which it leads, and the click there that begins the remedy. */
interface Way {
  readonly trouble: string | RegExp;
  readonly link: string;
  readonly place: string;
  readonly button: string;
  /** Appears after the second click. */
  readonly result: (page: Page) => Promise<unknown>;
}

const appears = (text: string) => (page: Page) => page.getByText(text).first().waitFor();
const dialog = (name: string | RegExp) => (page: Page) => page.getByRole('dialog', { name }).waitFor();

const ways = ({ id, model, jobId, idleKeyId }: TroubledOrganisation): readonly Way[] => [
  {
    trouble: /The trial ended on .*: scoring calls of all keys are refused/,
    ...{ link: 'Ask the operator for it.', place: '/settings#plan', button: 'Copy a request' },
    result: appears('Copied'),
  },
  {
    trouble: 'calls of a model that has not passed are refused',
    ...{ link: 'Expansion', place: `/models/${model._id}#override`, button: 'Override…' },
    result: dialog(/^Override the verdict/),
  },
  {
    trouble: /^95 % of the 10,000 records of \w+ \d+ are used: jobs pause .* calls are refused at 20,000\./,
    ...{ link: 'Ask for a higher limit', place: '/settings#plan', button: 'Copy a request' },
    result: async (page) => {
      await appears('Copied')(page);
      const request = await page.evaluate('navigator.clipboard.readText()');
      expect(request).to.equal(
        `Please change the plan or the limit of Troubled (${id}). It has the plan trial with 10,000 records a month.`,
      );
    },
  },
  {
    trouble: 'The job leads.csv is paused after 8,000 of 20,000 rows, because a person or a program paused it',
    ...{ link: 'Open the job', place: `/jobs/${jobId}#resume`, button: 'Resume' },
    result: (page) => page.getByRole('button', { name: 'Pause', exact: true }).waitFor(),
  },
  {
    trouble: /^Company size was in 0 % of the records of Expansion on .*, and in 100 % before: scores lack it\./,
    ...{ link: 'See its fields', place: `/models/${model._id}#fields`, button: 'see which calls arrive' },
    result: appears('3. Watch calls arrive'),
  },
  {
    trouble: /^The key Old integration had its last call on .*: if no program needs it, it is only a risk\./,
    ...{ link: 'Keep or revoke it', place: `/keys#${idleKeyId}`, button: 'Revoke Old integration' },
    result: dialog('Revoke Old integration?'),
  },
];

describe('the overview of an organisation in trouble', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();

  it('names six troubles, each once, and an admin reaches the remedy of each by two clicks', async () => {
    const troubled = await troubledOrganisation(site.service);
    const opened = await site.open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page, signIn, check, close } = opened;
    for (const { trouble, link, place, button, result } of ways(troubled)) {
      // A session of its own: the test is faster than the rate of one session.
      await page.context().clearCookies();
      await signIn('admin', troubled.id);
      await page.getByText(trouble).waitFor();
      expect(await page.getByText(trouble).count(), String(trouble)).to.equal(1);
      await page.locator('main').getByRole('link', { name: link, exact: true }).first().click();
      await page.waitForURL(`**${place}`);
      const remedy = page.getByRole(button.startsWith('see') ? 'link' : 'button', { name: button });
      await remedy.waitFor();
      await eventually(async () =>
        expect(await remedy.evaluate((element) => element === element.ownerDocument.activeElement)).to.equal(true),
      );
      await remedy.click();
      await result(page);
    }
    await page.goto(site.service.url);
    await page.getByText('Needs attention').waitFor();
    await check('overview-troubled');
    await close();
  });

  itInFull('lists them by their weight, and keeps them in their card at each width', async () => {
    const { id } = await troubledOrganisation(site.service);
    const { page, signIn, close } = await site.open();
    await signIn('admin', id);
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'Needs attention' }) });
    await card.waitFor();
    const links = await card.getByRole('link').allInnerTexts();
    expect(links).to.deep.equal(['Ask for a higher limit', 'Open the job', 'See its fields', 'Keep or revoke it']);
    for (const width of layoutWidths) expect(await layoutFaults(page, width), `at ${width}`).to.deep.equal([]);
    await close();
  });

  it('has no list when nothing needs attention', async () => {
    const { page, signIn, close } = await site.open();
    const attention = page.waitForResponse('**/attention');
    await signIn('admin', await site.service.newOrganisation());
    await attention;
    await page.getByText('Records scored in').waitFor();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    expect(await page.getByText('Needs attention').count()).to.equal(0);
    await close();
  });

  for (const appearance of appearances)
    itInFull(`shows the troubles, ${appearance.colorScheme} at ${appearance.viewport.width}`, async () => {
      const { id } = await troubledOrganisation(site.service);
      const { page, signIn, check, close } = await site.open(appearance);
      await signIn('admin', id);
      await page.getByText('Needs attention').waitFor();
      await check('overview-troubled');
      await close();
    });
});
