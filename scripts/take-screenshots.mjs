/**
 * Makes the pictures of the README: `node scripts/take-screenshots.mjs LINK`, with the one-time link that
 * `npm run demo -- --keep` prints. It needs Chromium at /usr/bin/chromium.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const link = process.argv[2];
const directory = fileURLToPath(new URL('../docs/images', import.meta.url));
if (link === undefined || !link.includes('/login#')) {
  console.error('Usage: node scripts/take-screenshots.mjs LINK\nnpm run demo -- --keep prints the link.');
  process.exitCode = 2;
} else await takeScreenshots(new URL(link));

async function takeScreenshots(url) {
  await mkdir(directory, { recursive: true });
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 1084 } });
    await page.goto(url.href);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('At this pace').waitFor();
    await page.screenshot({ path: join(directory, 'console-overview.png') });
    await page.goto(`${url.origin}/models`);
    await page.getByRole('listitem').filter({ hasText: 'passed' }).getByRole('link').click();
    await page.getByText('Conversion by score').waitFor();
    await page.screenshot({ path: join(directory, 'console-model.png') });
  } finally {
    await browser.close();
  }
}
