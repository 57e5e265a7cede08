import type { Locator, Page } from 'playwright-core';
import { eventually } from '../eventually.js';

/** More presses than any page of the tests needs. */
const maxPresses = 80;

/** The name of the element with the focus, as far as these tests need it. */
export const focusedName = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const { activeElement } = document;
    return activeElement.ariaLabel ?? activeElement.labels?.[0]?.textContent ?? activeElement.textContent;
  })()`);

/** Whether an element has the focus. */
const hasFocus = async (element: Locator): Promise<boolean> =>
  (await element.and(element.page().locator(':focus')).count()) > 0;

/** Presses Tab until an element has the focus: that of a name, or a given one. */
export async function tabTo(page: Page, target: string | Locator): Promise<void> {
  const passed: string[] = [];
  for (let press = 0; press < maxPresses; press += 1) {
    const now = (await focusedName(page)).trim();
    if (typeof target === 'string' ? now === target : await hasFocus(target)) return;
    passed.push(now.slice(0, 30));
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${target}: ${passed.join(' | ')}`);
}

/** Presses a key on the element that Tab reaches. */
export async function pressOn(page: Page, target: string | Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press(key);
}

/** The place of the focus among the controls of the open dialog. -1 is the document itself, -2 another element. */
const placeInDialog = `(() => {
  const dialog = document.querySelector('dialog[open]');
  const controls = [...dialog.querySelectorAll('a[href], button:enabled, input:enabled, select:enabled, textarea')];
  const { activeElement } = document;
  const place = controls.indexOf(activeElement);
  const isOutside = activeElement !== document.body && !dialog.contains(activeElement);
  return { place: isOutside ? -2 : place, count: controls.length };
})()`;

/**
 * Presses Tab, and then Shift and Tab, until each way has passed all controls of the open dialog.
 * @returns the controls that were reached by each way, by their places in the dialog, and all places
 */
export async function placesByTab(page: Page) {
  const { count } = (await page.evaluate(placeInDialog)) as { count: number };
  const reached: number[][] = [];
  for (const key of ['Tab', 'Shift+Tab']) {
    const places = new Set<number>();
    // The browser's own window takes the focus between the last and the first control.
    for (let press = 0; press < count + 3; press += 1) {
      await page.keyboard.press(key);
      const { place } = (await page.evaluate(placeInDialog)) as { place: number };
      if (place !== -1) places.add(place);
    }
    reached.push([...places].sort((one, other) => one - other));
  }
  return { reached, all: Array.from({ length: count }, (_, place) => place) };
}

/** Waits until an element has the focus. */
export const focusComes = (element: Locator): Promise<void> =>
  eventually(async () => {
    if (!(await hasFocus(element))) throw new Error(`${element} does not have the focus`);
  });
