import { expect } from 'chai';
import type { Document } from 'mongodb';
import type { modelReportSchema } from '../../shared/admin/schemas/models.js';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import type { ShapeOf } from '../../shared/contract/schema.js';
import { storeVersion } from '../../shared/store/models/store-version.js';
import { appearances, type ConsolePage, holdReplies, unavailable } from '../support/admin/console-browser.js';
import { consoleService } from '../support/admin/console-service.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { eventually } from '../support/eventually.js';
import { sampleBundle, sampleFeatures } from '../support/models/sample-bundle.js';
import { startTimeoutMs } from '../support/service/service.js';

const many = 60;
const longVersion = 'W'.repeat(100);
const markup = '<img src=x onerror=alert(1)>';
const country = { field: 'country', label: `Country ${markup}`, type: 'number', columns: [6], impute: 0 } as const;
const moves = [
  { field: 'company_size', label: 'Company size', raises: 0.25, lowers: -0.125 },
  { field: 'country', label: country.label, raises: 0.5, lowers: 0 },
];

describe('the comparison of two versions of a model', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser(consoleService);
  let filled: FilledOrganisation;
  let modelPath: string;

  before(async () => {
    filled = await filledOrganisation(site.service);
    modelPath = `/models/${filled.model._id}`;
    const [size, ...others] = sampleFeatures;
    if (size === undefined) throw new Error('the sample has no feature');
    const features = [{ ...size, required: true }, ...others, country];
    await storeVersion({
      ...{ database: site.service.database, organisationId: filled.id, modelId: filled.model._id },
      ...{ bundle: checkBundle(sampleBundle({ version: '2.0.0', features })), contributions: moves, now: new Date() },
    });
  });
  after(async () => {
    await site.service?.leave();
  });

  /** The cells of the row with this name in a table, without the name. */
  async function cellsOf({ page }: ConsolePage, table: string, row: string): Promise<string[]> {
    const found = page.getByRole('region', { name: table }).getByRole('row').filter({ hasText: row }).first();
    return (await found.getByRole('cell').allInnerTexts()).slice(1).map((text) => text.replaceAll(/\s+/g, ' '));
  }

  for (const appearance of appearances) {
    it(`shows what differs, and why a figure is missing, ${appearance.colorScheme} at ${appearance.viewport.width}`, async () => {
      const opened = await site.open(appearance);
      const { page } = opened;
      await opened.signIn('viewer', filled.id);
      await page.goto(`${site.service.url}${modelPath}`);
      await page.getByRole('link', { name: 'Compare', exact: true }).click();
      await page.getByRole('heading', { name: 'How fields move the scores' }).waitFor();
      await opened.check('compare');
      expect(await page.getByLabel('Version', { exact: true }).inputValue()).to.equal('1.0.0');
      expect(await page.getByLabel('Compared with').inputValue()).to.equal('2.0.0');
      const facts = (row: string) => cellsOf(opened, 'Facts and grades', row);
      expect(await facts('Fields')).to.deep.equal(['3', '4']);
      expect(await facts('Input columns')).to.deep.equal(['6', '7']);
      expect(await facts('The best scores convert')).to.deep.equal([
        '2.9x as often as all leads, at least 2.6x',
        'not graded yet',
      ]);
      // Equal rows are folded away, and open by a click.
      expect(await facts('Converted in training')).to.deep.equal([]);
      await page
        .getByText(/rows? (is|are) the same in both versions/)
        .first()
        .click();
      const equal = await cellsOf(opened, 'Facts and grades, the same in both', 'Converted in training');
      expect(equal).to.deep.equal(['30.0 %', '30.0 %']);
      expect(await facts('Graded leads')).to.deep.equal(['2,500', 'not graded yet']);
      const absent = 'not a field of this version';
      expect(await cellsOf(opened, 'Fields that differ', 'country')).to.deep.equal([
        absent,
        `${country.label}, number`,
      ]);
      expect(await cellsOf(opened, 'Fields that differ', 'company_size')).to.deep.equal([
        'Company size, number',
        'Company size, number, required',
      ]);
      await page.getByText('2 fields are the same in both.').waitFor();
      expect(await cellsOf(opened, 'Gates', 'Enough leads scored')).to.deep.equal([
        'cleared 4,000 200 needed',
        'not graded yet',
      ]);
      expect((await cellsOf(opened, 'Conversion by score', '80-100'))[0]).to.equal('41.8 % 209 of 500; 33.4 to 52.3 %');
      expect(await cellsOf(opened, 'Calibration by score', '80-100')).to.deep.equal([
        '67.5 % promised, 41.8 % converted',
        'not graded yet',
      ]);
      expect(await cellsOf(opened, 'Contributions', 'Company size')).to.deep.equal([
        'not computed at the import',
        'raises 0.250, lowers 0.125',
      ]);
      await page.getByText('No score of a live key is summed up yet').waitFor();
      await opened.close();
    });
  }

  it('shows low shares with more digits, also beside a band without leads', async () => {
    const opened = await site.open();
    const { page } = opened;
    await opened.signIn('viewer', filled.id);
    await page.route('**/report?version=*', async (route) => {
      const reply = await route.fetch({ url: route.request().url().replace('2.0.0', '1.0.0') });
      const report = (await reply.json()) as ShapeOf<typeof modelReportSchema>;
      const bands = report.grade?.bands.map((band) =>
        band.scores === '0-19'
          ? { ...band, records: 0, conversions: 0, rate: 0, low: 0, high: 1 }
          : { ...band, rate: band.rate / 100, low: band.low / 100, high: band.high / 100 },
      );
      const calibration = report.grade?.calibration.map((point) =>
        point.scores === '0-19'
          ? { ...point, records: 0, promised: null, converted: null, low: 0, high: 1 }
          : {
              ...{ ...point, low: point.low / 100, high: point.high / 100 },
              ...{ promised: (point.promised ?? 0) / 100, converted: (point.converted ?? 0) / 100 },
            },
      );
      await route.fulfill({ json: { ...report, grade: { ...report.grade, bands, calibration } } });
    });
    await page.goto(`${site.service.url}${modelPath}/compare`);
    await page.getByRole('heading', { name: 'At a glance' }).waitFor();
    const rates = (scores: string) => cellsOf(opened, 'Conversion by score', scores);
    expect(await rates('80-100')).to.deep.equal(Array(2).fill('0.42 % 209 of 500; 0.33 to 0.52 %'));
    expect(await rates('0-19')).to.deep.equal(Array(2).fill('no graded lead'));
    const shares = await cellsOf(opened, 'Calibration by score', '80-100');
    expect(shares).to.deep.equal(Array(2).fill('0.68 % promised, 0.42 % converted'));
    await opened.close();
  });

  it('lets other versions be chosen by keyboard, and keeps them in the address', async () => {
    const opened = await site.open({}, [401, 404]);
    const { page } = opened;
    await opened.signIn('admin', filled.id);
    await page.goto(`${site.service.url}${modelPath}/compare`);
    const other = page.getByLabel('Compared with');
    await other.focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('Both are version 1.0.0').waitFor();
    await opened.check('compare-same');
    const isFocused = () => other.evaluate((element) => element === element.ownerDocument.activeElement);
    expect(await isFocused(), 'the list keeps the focus').to.equal(true);
    await page.keyboard.press('ArrowUp');
    await page.getByRole('heading', { name: 'At a glance' }).waitFor();
    await page.goto(`${site.service.url}${modelPath}/compare?one=2.0.0&other=1.0.0`);
    await eventually(async () => expect(await cellsOf(opened, 'Facts and grades', 'Fields')).to.deep.equal(['4', '3']));
    await page.goto(`${site.service.url}${modelPath}/compare?other=9`);
    await page.getByRole('alert').filter({ hasText: 'has no version "9"' }).waitFor();
    await opened.check('compare-unknown');
    await opened.close();
  });

  it('says that a model has one version, that it is loading, and that a report cannot be read', async () => {
    const opened = await site.open({}, [401, 503]);
    const { page } = opened;
    await opened.signIn('admin', filled.id);
    const models = site.service.database.collection<{ readonly _id: string; readonly organisation_id: string }>(
      'models',
    );
    const single = await models.findOne({ organisation_id: filled.id, _id: { $ne: filled.model._id } });
    await page.goto(`${site.service.url}/models/${single?._id}`);
    await page.getByRole('heading', { name: 'Versions' }).waitFor();
    expect(await page.getByRole('link', { name: 'Compare' }).count()).to.equal(0);
    await page.goto(`${site.service.url}/models/${single?._id}/compare`);
    await page.getByText('This model has one version').waitFor();
    await opened.check('compare-one');
    const reports = '**/admin/v1/orgs/*/models/*/report?version=2.0.0';
    const answer = await holdReplies(page, reports, unavailable);
    await page.goto(`${site.service.url}${modelPath}/compare`);
    await page.getByRole('status').filter({ hasText: 'Loading…' }).waitFor();
    answer();
    await page.getByRole('alert').filter({ hasText: unavailable.json.error.message }).waitFor();
    await page.unroute(reports);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'At a glance' }).waitFor();
    await opened.close();
  });

  for (const appearance of appearances.filter(({ colorScheme }) => colorScheme === 'light')) {
    it(`offers the latest of many versions with long names, at ${appearance.viewport.width}`, async () => {
      const crowded = await filledOrganisation(site.service);
      const versions = site.service.database.collection<Document & { _id: string }>('model_versions');
      const stored = await versions.findOne({ _id: `${crowded.model._id}:1.0.0` });
      const copies = Array.from({ length: many }, (_, index) => {
        const version = `${longVersion}-${index}`;
        const importedAt = new Date(Date.now() + 1_000 * index);
        return { ...stored, _id: `${crowded.model._id}:${version}`, version, imported_at: importedAt };
      });
      await versions.insertMany(copies);
      const opened = await site.open(appearance);
      const { page } = opened;
      await opened.signIn('admin', crowded.id);
      await page.goto(`${site.service.url}/models/${crowded.model._id}`);
      await page.getByRole('button', { name: `Show ${many + 1 - 50} more versions` }).click();
      await page.getByRole('link', { name: `Compare version ${longVersion}-0`, exact: true }).click();
      await page.getByRole('heading', { name: 'At a glance' }).waitFor();
      expect(await page.getByLabel('Compared with').inputValue()).to.equal(`${longVersion}-0`);
      await page
        .getByText(`${many - 50 - 1} older versions are in the list`)
        .first()
        .waitFor();
      await page.getByText('No field differs.').waitFor();
      await opened.check('compare-many');
      await opened.close();
    });
  }
});
