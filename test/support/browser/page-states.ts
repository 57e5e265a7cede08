import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { projectFile } from '../../../shared/process/project-root.js';
import { layoutWidths } from './layout-faults.js';

/** An option of a person who wants the pictures of all states: see docs/contributing.md. */
const areKept = process.argv.includes('--screenshots');
const folder = projectFile('.local/screenshots/states');

/** A page in a state: its address below the console's, and a text that it shows then. */
export interface PageState {
  readonly page: string;
  readonly state: string;
  readonly address: string;
  readonly text: string;
}

const twoFrames = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

/** With `--screenshots`, writes `.local/screenshots/states/PAGE/STATE-WIDTH-SCHEME.png` at each width and scheme. */
export async function keepScreenshots(page: Page, { page: name, state }: PageState): Promise<void> {
  if (!areKept) return;
  mkdirSync(join(folder, name), { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of layoutWidths) {
      await page.setViewportSize({ width, height: 900 });
      // Tables fold in the frame after a change of their width: the picture would be too short.
      await page.evaluate(twoFrames);
      const path = join(folder, name, `${state}-${width}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** The replies that a page shows. Without those of the session and of the banner, which the shell needs. */
const ofPage = (url: URL): boolean =>
  url.pathname.startsWith('/admin/v1/') && !/\/(session|standing|attention)$/.test(url.pathname);

/**
 * Answers all that the open page asks for, in place of the console.
 * @param reply undefined holds the replies back
 * @returns ends it
 */
export async function answerPage(
  page: Page,
  reply: Parameters<Route['fulfill']>[0] | undefined,
): Promise<() => Promise<void>> {
  const handler = (route: Route) => (reply === undefined ? undefined : route.fulfill(reply));
  await page.route(ofPage, handler);
  return () => page.unroute(ofPage, handler);
}
