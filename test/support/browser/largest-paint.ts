import type { CDPSession, Page } from 'playwright-core';

/** The largest paint of a page: its ms after the browser asked for the page, and the text of its element. */
export interface LargestPaint {
  readonly ms: number;
  readonly text: string;
}

const lastEntry = `new Promise((done) =>
  new PerformanceObserver((list) => {
    const { startTime, element } = list.getEntries().at(-1);
    done({ ms: startTime, text: (element?.textContent ?? '').trim().slice(0, 40) });
  }).observe({ type: 'largest-contentful-paint', buffered: true }))`;

/** Loads a page with an empty browser cache until nothing more is asked for. */
export async function largestPaint(page: Page, cache: CDPSession, url: string): Promise<LargestPaint> {
  await page.goto('about:blank');
  await cache.send('Network.clearBrowserCache');
  await page.goto(url);
  await page.waitForLoadState('networkidle');
  return (await page.evaluate(lastEntry)) as LargestPaint;
}
