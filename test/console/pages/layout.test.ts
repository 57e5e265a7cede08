import { expect } from 'chai';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { layoutFaults } from '../../support/browser/layout-faults.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('the layout of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();

  it('is measured by a tool that finds controls outside of their card, small ones, cut text, and what covers another', async () => {
    const page = await site.browser.newPage();
    const card = (content: string) =>
      `<div class="card" style="position: relative; width: 200px; height: 80px; margin: 20px">${content}</div>`;
    const at = (left: number, content: string, more = '') =>
      `<span style="position: absolute; left: ${left}px; top: 5px; ${more}">${content}</span>`;
    const whole = card(at(5, 'one') + at(80, 'two') + at(150, '<button style="height: 24px">go</button>'));
    await page.setContent(whole);
    expect(await layoutFaults(page, 1280)).to.deep.equal([]);
    const outside = card(at(190, '<button>outside</button>'));
    const cut = card('<p style="width: 40px; overflow: hidden; white-space: nowrap">a text that is cut</p>');
    const over = card(at(5, 'below') + at(10, 'above'));
    const under = card(at(5, 'hidden') + at(5, '<button>button</button>'));
    await page.setContent(outside + cut + over + under);
    const faults = await layoutFaults(page, 1280);
    for (const fault of [
      'outside of its card: button "outside"',
      'cut: "a text that is cut"',
      'over each other: "below" and "above"',
      'under button "button": "hidden"',
    ])
      expect(faults).to.include(fault);
    const wide = `<section aria-label="Wide" style="overflow-x: auto"><p style="width: 900px">wide</p></section>`;
    await page.setContent(`${wide}<button style="width: 20px; height: 30px; padding: 0">x</button>`);
    expect(await layoutFaults(page, 1280)).to.deep.equal(['too small for a finger: button "x"']);
    expect(await layoutFaults(page, 390)).to.include('scrolls sideways: Wide');
    await page.setContent(`${card('<p style="width: 500px">page</p>')}<dialog>${cut}</dialog>`);
    expect(await layoutFaults(page, 390)).to.include('the page scrolls sideways');
    await page.evaluate(`document.querySelector('dialog').showModal()`);
    expect(await layoutFaults(page, 1280)).to.deep.equal(['cut: "a text that is cut"']);
    await page.close();
  });

  it('keeps the Live API switch of a model that is too early in its card, and cuts and covers no text', async () => {
    const organisationId = await site.service.newOrganisation();
    const bundle = checkBundle(sampleBundle({ name: 'X Education lead conversion' }));
    await createModel(site.service.database, { organisationId, bundle, now: new Date() });
    const { page, signIn, close } = await site.open();
    await signIn('owner', organisationId);
    await page.goto(`${site.service.url}/models`);
    await page.getByText('too early', { exact: true }).waitFor();
    await page.getByRole('switch', { name: 'Live API' }).waitFor();
    expect(await layoutFaults(page, 1280)).to.deep.equal([]);
    await close();
  });

  it('shows rows of a table as cards where it is too narrow, and as rows where it is not', async () => {
    const organisationId = await site.service.newOrganisation();
    for (const name of ['Production of the sales team', 'Integration'])
      await site.service.act(createKey, { org_id: organisationId, name, kind: 'live' });
    const { page, signIn, close } = await site.open();
    await signIn('owner', organisationId);
    await page.goto(`${site.service.url}/keys`);
    const revoke = page.getByRole('button', { name: 'Revoke Integration' });
    await revoke.waitFor();
    const tops = async (width: number) => {
      expect(await layoutFaults(page, width)).to.deep.equal([]);
      const cells = await page.getByRole('row').filter({ hasText: 'Integration' }).getByRole('cell').all();
      return new Set(await Promise.all(cells.map(async (cell) => Math.round((await cell.boundingBox())?.y ?? 0)))).size;
    };
    expect(await tops(390)).to.equal(9);
    expect(await revoke.isVisible()).to.equal(true);
    expect(await tops(1600)).to.equal(1);
    await close();
  });
});
