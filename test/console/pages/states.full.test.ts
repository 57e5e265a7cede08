import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';
import type { Role } from '../../../shared/contract/roles.js';
import { type ConsolePage, unavailable } from '../../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../../support/admin/filled-organisation.js';
import { layoutFaults } from '../../support/browser/layout-faults.js';
import { answerPage, keepScreenshots, type PageState } from '../../support/browser/page-states.js';
import { startTimeoutMs } from '../../support/service/service.js';

/** A name, an address, a text that the loaded page of a full organisation shows, and one of an empty organisation. */
const pages = [
  ['overview', '/', 'Records scored in', 'First steps'],
  ['models', '/models', 'Upload a bundle', 'No models yet'],
  ['leads', '/leads', 'Find a lead', 'Find a lead'],
  ['jobs', '/jobs', 'All jobs', 'No jobs yet'],
  ['new-job', '/jobs/new', 'Leads and model', 'No models yet'],
  ['outcomes', '/outcomes', 'Gates of each model', 'Outcomes'],
  ['playground', '/playground', 'The same call from your code', 'No models yet'],
  ['keys', '/keys', 'Valid keys', 'No valid key'],
  ['crm', '/crm', '3. Watch calls arrive', 'No counted call yet'],
  ['refused-calls', '/refused-calls', 'No refused calls', 'No refused calls'],
  ['usage', '/usage', 'The last twelve months', 'The last twelve months'],
  ['settings', '/settings', 'Sign-in links', 'Sign-in links'],
  ['sessions', '/sessions', 'this browser', 'this browser'],
  ['audit', '/audit', 'Changes', 'Changes'],
] as const;
const operatorPages = [
  ['orgs', '/orgs', 'Page 1'],
  ['fleet', '/fleet', 'All organisations'],
  ['operator-sessions', '/operator-sessions', 'this browser'],
] as const;
const measuredWidths = [390, 1440];
const refusal = {
  status: 403,
  json: { error: { code: 'forbidden', message: 'Your role may not read this.', request_id: 'the-request' } },
} as const;

import { consoleInBrowser } from '../../support/browser/console-in-browser.js';

describe('each page of the console in each state', function () {
  this.timeout(20 * startTimeoutMs);
  const site = consoleInBrowser();
  let filled: FilledOrganisation;
  let emptyId: string;

  before(async () => {
    filled = await filledOrganisation(site.service);
    emptyId = await site.service.newOrganisation('Fresh');
  });

  async function faultsOf(page: Page, states: readonly PageState[], ready: (page: Page) => Promise<unknown>) {
    const found: Record<string, readonly string[]> = {};
    for (const each of states) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(`${site.service.url}${each.address}`);
      await page.getByText(each.text).first().waitFor();
      await ready(page);
      for (const width of measuredWidths) {
        const faults = await layoutFaults(page, width);
        if (faults.length > 0) found[`${each.page} ${each.state} at ${width}`] = faults;
      }
      await keepScreenshots(page, each);
    }
    return found;
  }

  const addressesOf = (): readonly (readonly [string, string])[] => [
    ...pages.map(([page, address]) => [page, address] as const),
    ['model', `/models/${filled.model._id}`],
    ['job', `/jobs/${filled.jobId}`],
    ['lead', `/leads/${filled.crmId}`],
    ['compare', `/models/${filled.model._id}/compare`],
  ];
  /** All pages in a state that the replies to them make, which shows the same text on each. */
  async function withReply(
    state: string,
    text: string,
    { reply, role = 'owner' }: { reply?: Parameters<Route['fulfill']>[0]; role?: Role },
  ): Promise<void> {
    const opened: ConsolePage = await site.open({}, [401, 403, 503]);
    await opened.signIn(role, role === 'operator' ? undefined : filled.id);
    await answerPage(opened.page, reply);
    const own = role === 'operator' ? operatorPages.map(([page, address]) => [page, address] as const) : addressesOf();
    const states = own.map(([page, address]) => ({ page, state, address, text }));
    expect(await faultsOf(opened.page, states, async () => {})).to.deep.equal({});
    await opened.close();
  }

  it('keeps its layout while it loads', async () => {
    await withReply('loading', 'Loading…', {});
    await withReply('loading', 'Loading…', { role: 'operator' });
  });

  it('keeps its layout when the database does not answer', async () => {
    await withReply('error', unavailable.json.error.message, { reply: unavailable });
    await withReply('error', unavailable.json.error.message, { reply: unavailable, role: 'operator' });
  });

  it('keeps its layout when the role may not read it', async () => {
    await withReply('refused', refusal.json.error.message, { reply: refusal });
    await withReply('refused', refusal.json.error.message, { reply: refusal, role: 'operator' });
  });

  it('keeps its layout in an organisation without anything', async () => {
    const { page, signIn, close } = await site.open();
    await signIn('owner', emptyId);
    const states = pages.map(([name, address, , text]) => ({ page: name, state: 'empty', address, text }));
    expect(await faultsOf(page, states, (each) => each.waitForLoadState('networkidle'))).to.deep.equal({});
    await close();
  });

  it('keeps its layout with the data of an organisation', async () => {
    const { page, signIn, close } = await site.open();
    await signIn('owner', filled.id);
    const texts: Readonly<Record<string, string>> = {
      model: 'Conversion by score',
      job: 'Paused',
      lead: 'Changed fields',
    };
    const states = addressesOf().map(([name, address]) => ({
      ...{ page: name, state: 'filled', address },
      text: pages.find(([each]) => each === name)?.[2] ?? texts[name] ?? 'Compare versions',
    }));
    expect(await faultsOf(page, states, (each) => each.waitForLoadState('networkidle'))).to.deep.equal({});
    await close();
  });

  it('keeps its layout with the data of all organisations', async () => {
    const { page, signIn, close } = await site.open();
    await signIn('operator');
    const states = operatorPages.map(([name, address, text]) => ({ page: name, state: 'filled', address, text }));
    expect(await faultsOf(page, states, (each) => each.waitForLoadState('networkidle'))).to.deep.equal({});
    await close();
  });
});
