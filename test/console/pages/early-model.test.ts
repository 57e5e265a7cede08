import { expect } from 'chai';
import type { Document } from 'mongodb';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs, dayNumber, dayText } from '../../../shared/contract/dates.js';
import { type GateResult, waitsFor } from '../../../shared/contract/verdict.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { type StoredVerdict, ValidationStore } from '../../../shared/store/validation/model-validation.js';
import { appearances, type ConsolePage } from '../../support/admin/console-browser.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { itInFull } from '../../support/tier.js';

/** Gates of 250 leads that are too young. The grader stores figures of gates that were not reached too. */
const gates: readonly GateResult[] = [
  { gate: 'predictions_recorded', state: 'cleared', figures: { cohort: 250, required: 200 } },
  { gate: 'cohort_reconciles', state: 'cleared', figures: { joined_share: 1, required_share: 0.95 } },
  {
    ...{ gate: 'matured_cohort', state: 'too_early', figures: { matured_and_joined: 0, required: 200 } },
    needs: '0 of 200 required predictions have completed the 90-day window',
  },
  { gate: 'outcomes_observed', figures: { conversions: 0, required_conversions: 30 } },
  { gate: 'rate_rises_with_band', figures: { p: 1, required_p: 0.05 } },
  { gate: 'top_band_lift', figures: { lift: 0, lower_bound: 0, required_lift: 1.2 } },
].map((each) => ({ state: 'not_reached', needs: waitsFor('matured_cohort'), ...each }) as GateResult);

describe('the page of a model that is too early', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let organisationId: string;

  before(async () => {
    organisationId = await site.service.newOrganisation();
  });

  const newModel = (): Promise<Model> => {
    const bundle = checkBundle(sampleBundle({ name: 'X Education lead conversion' }));
    return createModel(site.service.database, { organisationId, bundle, now: new Date() });
  };

  /** A grade of today, and 250 leads scored ten days ago. */
  async function addGrade({ _id: modelId, version }: Model): Promise<void> {
    const [graded, at, day] = [`${modelId}:${version}`, new Date(), dayNumber(Date.now()) - 10];
    const band = { cohort: 50, excluded: 0, joined: 50, conversions: 0, likelihood: 70_000 };
    await site.service.database.collection<Document & { _id: string }>('validation_daily').insertOne({
      ...{ _id: `${graded}:${dayText(day)}`, graded, org: organisationId, day, matured_day: day + 90 },
      bands: Array(5).fill(band),
    });
    const early = { state: 'too_early_to_grade', failing_gate: 'matured_cohort' } as const;
    const dates = { as_of: at, data_read_at: at, rebuilt_at: at };
    const verdict: StoredVerdict = {
      ...{ _id: graded, organisation_id: organisationId, ...early, graded_at: at },
      summary: 'Too early to grade at matured_cohort: 0 of 200 required predictions have completed the 90-day window.',
      grade: { ...dates, state: early.state, gates, bands: [], horizon_days: 90 },
    };
    await new ValidationStore(site.service.database).replace(verdict);
  }

  async function open(model: Model, appearance = {}): Promise<ConsolePage & { readonly main: () => Promise<string> }> {
    const opened = await site.open(appearance);
    await opened.signIn('admin', organisationId);
    await opened.page.goto(`${site.service.url}/models/${model._id}`);
    await opened.page.getByRole('heading', { name: 'Validation' }).waitFor();
    return { ...opened, main: async () => (await opened.page.locator('main').textContent()) ?? '' };
  }

  it('says before the first count which leads to score, and names the gates by their titles', async () => {
    const { main, page, check, close } = await open(await newModel());
    await page.getByText('Step 1 of 6 is open: Enough leads scored.').waitFor();
    await page.getByText('Score leads with a live key and a crm_id. A verdict needs 200 of them.').waitFor();
    expect(await main())
      .to.include('A lead counts 90 days after its first score.')
      .and.not.match(/predictions_recorded|cohort_reconciles|must clear first/);
    expect(await page.locator('ol .number').count()).to.equal(0);
    await check('model-early-uncounted');
    await page.goto(`${site.service.url}/models`);
    await page.getByText('Too early to grade at “Enough leads scored”').waitFor();
    await close();
  });

  for (const appearance of appearances) {
    const words = `${appearance.colorScheme} at ${appearance.viewport.width}`;
    itInFull(`shows the open gate, its figure and the day of a verdict, ${words}`, async () => {
      const model = await newModel();
      await addGrade(model);
      const { main, page, check, close } = await open(model, appearance);
      await page.getByText('Step 3 of 6 is open: Old enough to judge.').waitFor();
      const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
      await page.getByText(`A verdict is possible from ${day.format(Date.now() + 80 * dayMs)}.`).waitFor();
      await page.getByText('Wait until the leads are 90 days old').waitFor();
      const figures = await page.locator('ol .number strong').allInnerTexts();
      expect(figures, 'of the gates up to the open one').to.deep.equal(['250', '100 %', '0']);
      expect(await main()).to.not.match(/matured_cohort|must clear first/);
      await check('model-early');
      const hint = page.getByText('Lift of the top band');
      expect(await hint.isVisible()).to.equal(false);
      await page.getByRole('button', { name: 'Statistical terms' }).first().focus();
      await page.keyboard.press('Enter');
      await hint.waitFor();
      await check('model-early-hint');
      await page.keyboard.press('Escape');
      await hint.waitFor({ state: 'hidden' });
      await close();
    });
  }
});
