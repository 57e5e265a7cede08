import { loadavg } from 'node:os';
import { expect } from 'chai';
import { filledOrganisation } from '../../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { type LargestPaint, largestPaint } from '../../support/browser/largest-paint.js';
import { startTimeoutMs } from '../../support/service/service.js';

/** An option of a person who wants the times: see docs/performance.md. A shared machine has no bound for them. */
const areMeasured = process.argv.includes('--paints');
const loads = areMeasured ? 7 : 1;

describe('the largest paint of each page of the console', function () {
  this.timeout(20 * startTimeoutMs);
  const site = consoleInBrowser();

  it('is one of the page itself, with an empty browser cache', async () => {
    const filled = await filledOrganisation(site.service);
    const model = `/models/${filled.model._id}`;
    const ofOwner = [
      ['overview', '/'],
      ['models', '/models'],
      ['model', model],
      ['comparison', `${model}/compare`],
      ['leads', '/leads'],
      ['lead', `/leads/${filled.crmId}`],
      ['jobs', '/jobs'],
      ['new job', '/jobs/new'],
      ['job', `/jobs/${filled.jobId}`],
      ...['outcomes', 'playground', 'keys', 'crm', 'refused-calls'].map((page) => [page, `/${page}`]),
      ...['usage', 'settings', 'sessions', 'audit'].map((page) => [page, `/${page}`]),
    ];
    const ofOperator = ['orgs', 'fleet', 'operator-sessions'].map((page) => [page, `/${page}`]);
    const paints = new Map<string, LargestPaint[]>();
    for (const [role, pages] of [
      ['owner', ofOwner],
      ['operator', ofOperator],
    ] as const) {
      const { page, signIn, close } = await site.open();
      await signIn(role, role === 'owner' ? filled.id : undefined);
      const cache = await page.context().newCDPSession(page);
      // In turns, so that other work on the machine meets all pages.
      for (let load = 0; load < loads; load += 1)
        for (const [name = '', address = ''] of pages) {
          const paint = await largestPaint(page, cache, `${site.service.url}${address}`);
          expect(paint.ms, name).to.be.greaterThan(0);
          expect(paint.text, name).to.not.equal('');
          paints.set(name, [...(paints.get(name) ?? []), paint]);
        }
      await close();
    }
    if (areMeasured) print(paints);
  });
});

function print(paints: ReadonlyMap<string, readonly LargestPaint[]>): void {
  process.stdout.write(`    load of the machine ${loadavg()[0]?.toFixed(1)}; median ms, range, text of the element\n`);
  for (const [name, all] of paints) {
    const ms = all.map((paint) => Math.round(paint.ms)).sort((one, other) => one - other);
    const [median, least, most] = [ms[Math.floor(ms.length / 2)], ms[0], ms.at(-1)];
    process.stdout.write(`    ${name}: ${median}, ${least} to ${most}, ${all.at(-1)?.text}\n`);
  }
}
