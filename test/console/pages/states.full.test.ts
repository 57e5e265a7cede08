import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { callIdGenerator, jobIdOf } from '../../../shared/contract/identifiers.js';
import type { Role } from '../../../shared/contract/roles.js';
import { consoleKeyId, createJob } from '../../../shared/store/jobs/create-job.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { type ConsolePage, unavailable } from '../../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { changeReplies, longName } from '../../support/browser/crowded-replies.js';
import { layoutFaults } from '../../support/browser/layout-faults.js';
import { answerPage, keepScreenshots, type PageState } from '../../support/browser/page-states.js';
import { defaultOptions, sampleJob } from '../../support/jobs/sample-job.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

/**
 * A name, an address, and three texts of the loaded page. They are of a full organisation, of an empty one, and of one
 * that has a model and a key.
 */
const pages = [
  ['overview', '/', 'Records scored in', 'First steps', '2 of 4 are done'],
  ['models', '/models', 'Upload a bundle', 'No models yet', 'too early'],
  ['leads', '/leads', 'Find a lead', 'Find a lead', 'No live key has scored a lead yet'],
  ['jobs', '/jobs', 'All jobs', 'No jobs yet', 'first.csv'],
  ['new-job', '/jobs/new', 'Leads and model', 'No models yet', 'Leads and model'],
  ['outcomes', '/outcomes', 'Gates of each model', 'No models yet', 'Not graded yet'],
  ['playground', '/playground', 'The same call from your code', 'No models yet', 'The same call from your code'],
  ['keys', '/keys', 'Valid keys', 'No valid key', 'never'],
  ['crm', '/crm', '3. Watch calls arrive', 'No counted call yet', 'No counted call yet'],
  ['refused-calls', '/refused-calls', 'No refused calls', 'No refused calls', 'No refused calls'],
  ['usage', '/usage', 'The last twelve months', 'The last twelve months', 'The last twelve months'],
  ['settings', '/settings', 'Sign-in links', 'Sign-in links', 'Sign-in links'],
  ['sessions', '/sessions', 'this browser', 'this browser', 'this browser'],
  ['audit', '/audit', 'Changes', 'Changes', 'created the live key'],
] as const;
const operatorPages = [
  ['orgs', '/orgs', 'Page 1'],
  ['fleet', '/fleet', 'All organisations'],
  ['operator-sessions', '/operator-sessions', 'this browser'],
] as const;
const cutName = longName.slice(0, 40);
const measuredWidths = [390, 1440];
const loaded = (page: Page) => page.waitForLoadState('networkidle');
const refusal = {
  status: 403,
  json: { error: { code: 'forbidden', message: 'Your role may not read this.', request_id: 'the-request' } },
} as const;

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
      // Also the text of an option, which the browser does not show.
      const text = page.getByText(each.text).first();
      await text.waitFor({ state: 'attached' }).catch((error: Error) => {
        throw new Error(`${each.page} ${each.state}: ${error.message}`);
      });
      await ready(page);
      for (const width of measuredWidths) {
        // A select shows the beginning of a long name.
        const faults = (await layoutFaults(page, width)).filter(
          (fault) => !fault.includes(`in its field: "${cutName}`),
        );
        if (faults.length > 0) found[`${each.page} ${each.state} at ${width}`] = faults;
      }
      await keepScreenshots(page, each);
    }
    return found;
  }

  /** An organisation with a model, a key and a job without its file. @returns the addresses of pages that have an id */
  async function beginner() {
    const { service } = site;
    const id = await service.newOrganisation('Beginner');
    const bundle = checkBundle(sampleBundle({ name: 'Expansion' }));
    const now = new Date();
    const model = await createModel(service.database, { organisationId: id, bundle, now });
    await service.act(createKey, { org_id: id, name: 'HubSpot', kind: 'live' });
    const job = sampleJob({
      ...{ _id: jobIdOf(callIdGenerator()(now.getTime(), id)), org: id, key: consoleKeyId, person: 'Ada' },
      ...{ model: model._id, version: model.version, state: 'awaiting_upload' as const, created_at: now },
      ...{ options: { ...defaultOptions, name: 'first.csv' }, purge_at: new Date(now.getTime() + 86_400_000) },
    });
    await createJob(service.database, job, 1);
    const own = [
      ['model', `/models/${model._id}`, 'Step 1 of 6'],
      ['compare', `/models/${model._id}/compare`, 'This model has one version'],
      ['job', `/jobs/${job._id}`, 'first.csv'],
    ] as const;
    return { id, own };
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
    expect(await faultsOf(page, states, loaded)).to.deep.equal({});
    await close();
  });

  it('keeps its layout when its model, job or lead does not exist, and without any organisation', async () => {
    const { page, signIn, close } = await site.open({}, [401, 404]);
    await signIn('owner', emptyId);
    const states = [
      ['model', '/models/mdl_none', 'There is no model'],
      ['compare', '/models/mdl_none/compare', 'There is no model'],
      ['job', '/jobs/job_none', 'There is no job'],
      ['lead', '/leads/none', 'Nothing has been scored'],
    ].map(([name = '', address = '', text = '']) => ({ page: name, state: 'empty', address, text }));
    expect(await faultsOf(page, states, loaded)).to.deep.equal({});
    await close();
    const operator = await site.open();
    await operator.signIn('operator');
    await changeReplies(operator.page, 'emptied');
    const ofOperator = [
      ['orgs', '/orgs', 'No organisations yet'],
      ['fleet', '/fleet', 'No sweep was noted'],
      ['operator-sessions', '/operator-sessions', 'Sessions'],
    ].map(([name = '', address = '', text = '']) => ({ page: name, state: 'empty', address, text }));
    expect(await faultsOf(operator.page, ofOperator, loaded)).to.deep.equal({});
    await operator.close();
  });

  it('keeps its layout after the first steps of an organisation', async () => {
    const { id, own } = await beginner();
    const { page, signIn, close } = await site.open();
    await signIn('owner', id);
    const states = [
      ...pages.map(([name, address, , , text]) => ({ page: name, state: 'first-run', address, text })),
      ...own.map(([name, address, text]) => ({ page: name, state: 'first-run', address, text })),
    ];
    expect(await faultsOf(page, states, loaded)).to.deep.equal({});
    await close();
  });

  it('keeps its layout with many entries, long names and large numbers', async () => {
    const opened = await site.open({}, [401, 404]);
    await opened.signIn('owner', filled.id);
    await changeReplies(opened.page, 'crowded');
    const others: Readonly<Record<string, string>> = {
      ...{ 'refused-calls': 'rate limited', usage: 'records', settings: 'example.com', sessions: 'Sessions' },
    };
    const states = addressesOf().map(([page, address]) => ({
      ...{ page, state: 'too-much', address },
      text: others[page] ?? longName,
    }));
    expect(await faultsOf(opened.page, states, loaded)).to.deep.equal({});
    await opened.close();
    const operator = await site.open({}, [401, 404]);
    await operator.signIn('operator');
    await changeReplies(operator.page, 'crowded');
    const ofOperator = operatorPages.map(([page, address]) => ({ page, state: 'too-much', address, text: longName }));
    expect(await faultsOf(operator.page, ofOperator, loaded)).to.deep.equal({});
    await operator.close();
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
    expect(await faultsOf(page, states, loaded)).to.deep.equal({});
    await close();
  });

  it('keeps its layout with the data of all organisations', async () => {
    const { page, signIn, close } = await site.open();
    await signIn('operator');
    const states = operatorPages.map(([name, address, text]) => ({ page: name, state: 'filled', address, text }));
    expect(await faultsOf(page, states, loaded)).to.deep.equal({});
    await close();
  });
});
