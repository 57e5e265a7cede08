import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Route } from 'playwright-core';
import type { Role } from '../../../shared/contract/roles.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { leaveOut } from '../leave-out.js';
import { sharedPart } from '../service/at-end.js';
import { isFullTier } from '../tier.js';
import type { ConsoleService } from './console-service.js';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const screenshots = projectFile('.local/screenshots');
const axe = readFileSync(projectFile('node_modules/axe-core/axe.min.js'), 'utf8');
const rules = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  // Axe calls this rule of WCAG 2.5.3 experimental: a name must contain the text that the button shows.
  rules: { 'label-content-name-mismatch': { enabled: true } },
};

/** The menu of a viewer. */
export const viewerPages = [
  ...['Overview', 'Models', 'CRM set-up', 'Refused calls', 'Usage', 'Settings', 'Sessions', 'Audit log'],
];

/** The schemes and widths in which every page is tested. */
export const appearances = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [1440, 390].map((width) => ({ colorScheme, viewport: { width, height: 900 } })),
);

/** How large the text of each chart is against the size in its style. The dial of a score may be scaled. */
const chartScales = `[...document.querySelectorAll('svg.chart:not(.gauge)')].map((chart) => chart.getScreenCTM().a)`;

/** A browser page that notes errors of scripts, and each request to elsewhere. */
export interface ConsolePage {
  readonly page: Page;
  /** Bytes of all replies so far, as sent. */
  loadedBytes(): number;
  /**
   * Expects that axe-core finds no violation of WCAG 2.2 AA. Charts must not scale their text, and nothing may be wider
   * than the page or its card. In the full tier, takes a screenshot for people.
   */
  check(name: string): Promise<void>;
  /** Opens a one-time link and signs in by it. */
  signIn(role: Role, organisationId?: string): Promise<void>;
  /** Closes it, and expects that there were no errors of scripts, violations of the CSP, and requests to elsewhere. */
  close(): Promise<void>;
}

const sharedBrowser = sharedPart(
  async () => {
    if (executablePath === undefined) throw new Error('no Chromium is installed');
    mkdirSync(screenshots, { recursive: true });
    // Playwright would switch off that the browser keeps pages for the button "Back".
    const ignoreDefaultArgs = ['--disable-back-forward-cache'];
    return chromium.launch({ executablePath, args: ['--no-sandbox'], ignoreDefaultArgs });
  },
  (browser) => browser.close(),
);

/** A test opens pages faster than a person. Pages wait for the rate of the session; the browser reports each wait. */
const rateLimited = 429;

/** The system's Chromium, which test files share. Leaves the tests out without it. */
export async function openBrowser(context: Mocha.Context): Promise<Browser> {
  if (executablePath === undefined) leaveOut(context, 'no Chromium is installed', 'install the package chromium');
  return sharedBrowser();
}

/**
 * Opens a page of its own cookies.
 *
 * @param expected statuses of refused requests that the test causes; the browser reports each as an error. A text is
 * part of another error.
 */
export async function openPage(
  browser: Browser,
  service: ConsoleService,
  options: BrowserContextOptions = {},
  expected: readonly (number | string)[] = [401],
): Promise<ConsolePage> {
  // A slow browser would show colors in between to axe-core.
  const context = await browser.newContext({ ...appearances[0], reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  let bytes = 0;
  const note = (problem: string) => {
    const texts = [...expected, rateLimited].map((each) => (typeof each === 'number' ? `status of ${each}` : each));
    if (!texts.some((text) => problem.includes(text))) problems.push(problem);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') note(message.text());
  });
  page.on('pageerror', (error) => note(error.message));
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(service.url)) note(request.url());
  });
  page.on('requestfinished', async (request) => {
    // Unknown once the page is closed.
    const sizes = await request.sizes().catch(() => undefined);
    bytes += sizes?.responseBodySize ?? 0;
  });
  const appearance = `${options.viewport?.width ?? 1440}-${options.colorScheme ?? 'light'}`;
  return {
    page,
    loadedBytes: () => bytes,
    check: async (name) => {
      if (isFullTier()) await page.screenshot({ path: join(screenshots, `${name}-${appearance}.png`), fullPage: true });
      const found = await page.evaluate(`${axe}; axe.run(document, ${JSON.stringify(rules)})`);
      const { violations } = found as { violations: { id: string; nodes: { html: string }[] }[] };
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).to.deep.equal([]);
      const scales = await page.evaluate(chartScales);
      expect(scales, 'sizes of charts against their drawing').to.satisfy((all: number[]) =>
        all.every((scale) => scale > 0.95 && scale < 1.05),
      );
      const excess = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      expect(excess, 'pixels beyond the width of the page').to.equal(0);
      expect(await page.evaluate(outsideOfCards), `controls outside of their card on ${name}`).to.deep.equal([]);
    },
    signIn: async (role, organisationId) => {
      await page.goto(`${service.url}/login#${await service.newLink(role, organisationId)}`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      // The button "Sign out" is in a closed menu on narrow pages.
      await page.locator('.shell').waitFor();
    },
    close: async () => {
      expect(problems).to.deep.equal([]);
      await context.close();
    },
  };
}

/** The controls and badges that lie outside of their card, left or right. In a box that scrolls they may. */
const outsideOfCards = `[...document.querySelectorAll('.card')].flatMap((card) => {
  const { left, right } = card.getBoundingClientRect();
  const scrolls = (element) =>
    element !== card && (getComputedStyle(element).overflowX !== 'visible' || scrolls(element.parentElement));
  return [...card.querySelectorAll('a, button, input, select, textarea, .badge, .switch span')]
    .filter((element) => {
      const box = element.getBoundingClientRect();
      return box.width > 0 && (box.left < left || box.right > right) && !scrolls(element.parentElement);
    })
    .map((element) => element.outerHTML.slice(0, 120));
})`;

/** The reply of a console whose database does not answer. */
export const unavailable = {
  status: 503,
  json: {
    error: { code: 'unavailable', message: 'The database did not answer in time.', request_id: 'the-request' },
  },
} as const;

/**
 * Holds the replies for an address back.
 * @param reply instead of that of the console
 * @returns lets them come
 */
export async function holdReplies(
  page: Page,
  address: string,
  reply?: Parameters<Route['fulfill']>[0],
): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  await page.route(address, async (route) => {
    await released;
    await (reply === undefined ? route.continue() : route.fulfill(reply));
  });
  return release;
}
