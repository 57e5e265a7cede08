import type { Page } from 'playwright-core';

/** The widths at which the layout of each page is measured. */
export const layoutWidths = [390, 768, 1280, 1440, 1600] as const;

/**
 * Measures the open page at a width. While a dialog, a hint or the menu of organisations is open, measures that alone.
 * @returns a line for each control that is small or outside of its card, and for each text that is cut or covered. On a
 * telephone also for each box that scrolls sideways. Text in a box that scrolls may go on beyond the box
 */
export async function layoutFaults(page: Page, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 900 });
  // Charts draw themselves again in the frame after a change of their width.
  const frame = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';
  await page.evaluate(`document.fonts.ready.then(() => ${frame})`);
  return (await page.evaluate(`(${measure})()`)) as string[];
}

/** Pixels by which the measures of a browser may differ. */
const tolerance = 1;
/** The least width and height of a control, by WCAG 2.5.8. */
const fingerPx = 24;
/** Up to this width nothing but a sample of code may scroll sideways. */
const telephonePx = 560;
const cards = '.card, dialog, [popover], .organisations nav';

const measure = `() => {
  const tolerance = ${tolerance};
  const cards = '${cards}';
  const root = [...document.querySelectorAll('dialog[open], [popover]:popover-open, .organisations nav')].at(-1) ?? document.body;
  const controls = 'a.button, button, input:not(.visually-hidden), select, textarea, summary, .switch span';
  const isShown = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && !element.closest('.visually-hidden, .skip:not(:focus), [data-folded] thead');
  const quoted = (text) => JSON.stringify(text.replace(/\\s+/g, ' ').trim().slice(0, 60));
  const nameOf = (element) => element.tagName.toLowerCase() + ' ' + quoted(element.textContent || element.id);

  /** A box within the boxes that clip it, and whether it is cut by one that does not scroll. */
  function seen(element, box) {
    let { left, top, right, bottom } = box;
    let isCut = false;
    // Elements around a dialog or a hint do not clip it.
    const end = root.matches('dialog, [popover]') ? root.parentElement : document.body;
    for (let each = element; each && each !== end; each = each.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(each);
      if (overflowX === 'visible' && overflowY === 'visible') continue;
      const clip = each.getBoundingClientRect();
      const isOutside = left < clip.left - tolerance || right > clip.right + tolerance ||
        top < clip.top - tolerance || bottom > clip.bottom + tolerance;
      if (isOutside && overflowX !== 'auto' && overflowX !== 'scroll') isCut = true;
      left = Math.max(left, clip.left);
      right = Math.min(right, clip.right);
      top = Math.max(top, clip.top);
      bottom = Math.min(bottom, clip.bottom);
    }
    return { left, top, right, bottom, isCut };
  }
  const scrolls = (element, card) => {
    for (let each = element.parentElement; each && each !== card; each = each.parentElement)
      if (getComputedStyle(each).overflowX !== 'visible') return true;
    return false;
  };
  const pageWidth = document.documentElement.clientWidth;
  const faults = [];
  if (document.documentElement.scrollWidth > pageWidth) faults.push('the page scrolls sideways');
  if (pageWidth <= ${telephonePx})
    for (const each of root.querySelectorAll('*'))
      if (/auto|scroll/.test(getComputedStyle(each).overflowX) && each.scrollWidth > each.clientWidth + tolerance &&
        isShown(each) && !each.querySelector('pre') && each.tagName !== 'TEXTAREA')
        faults.push('scrolls sideways: ' + (each.ariaLabel ?? nameOf(each)));

  // Lines of text, each in its box.
  const lines = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (node.data.trim() === '' || !isShown(element) || element.closest('script, style, select, textarea, title')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    // A text of a drawing has one box, also when it has several nodes.
    const isDrawn = element.closest('svg') !== null;
    const boxes = isDrawn ? [element.getBoundingClientRect()] : range.getClientRects();
    for (const box of boxes) {
      if (box.width === 0) continue;
      const { isCut, ...visible } = seen(element, box);
      const isBeyond = visible.left < -tolerance || visible.right > pageWidth + tolerance;
      if (isCut || isBeyond) faults.push('cut: ' + quoted(node.data));
      const card = element.closest(cards);
      if (card && !scrolls(element, card)) {
        const { left, right } = card.getBoundingClientRect();
        if (box.left < left - tolerance || box.right > right + tolerance) faults.push('outside of its card: ' + quoted(node.data));
      }
      // The box of a line is higher than its letters.
      const quarter = (visible.bottom - visible.top) / 4;
      lines.push({ ...visible, top: visible.top + quarter, bottom: visible.bottom - quarter, element, node, isDrawn });
    }
  }

  // The chosen text of a select, and the hint in an empty field.
  const pen = document.createElement('canvas').getContext('2d');
  for (const field of root.querySelectorAll('select, input[placeholder]')) {
    const text = field.tagName === 'SELECT' ? field.selectedOptions[0]?.textContent : field.value === '' && field.placeholder;
    if (!text || !isShown(field)) continue;
    const style = getComputedStyle(field);
    pen.font = style.font;
    const arrow = field.tagName === 'SELECT' ? 16 : 0;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
    if (pen.measureText(text).width > room + tolerance) faults.push('cut in its field: ' + quoted(text));
  }

  const controlBoxes = [...root.querySelectorAll(controls)].filter(isShown).map((element) => {
    const box = element.getBoundingClientRect();
    const card = element.closest(cards);
    if (card && box.width > 0 && !scrolls(element, card)) {
      const { left, right, top, bottom } = card.getBoundingClientRect();
      const isOutside = box.left < left - tolerance || box.right > right + tolerance || box.top < top - tolerance || box.bottom > bottom + tolerance;
      if (isOutside) faults.push('outside of its card: ' + nameOf(element));
    }
    const target = (element.matches('[type=checkbox], [type=radio]') && element.closest('label')) || element;
    const { width, height } = target.getBoundingClientRect();
    const isSmall = width > 0 && (width < ${fingerPx} || height < ${fingerPx}) && !target.matches('.switch span');
    if (isSmall) faults.push('too small for a finger: ' + nameOf(element));
    return { ...seen(element, box), element };
  });

  const meet = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > tolerance &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > tolerance;
  for (const [index, one] of lines.entries()) {
    for (const other of lines.slice(index + 1))
      if (one.node !== other.node && !(one.isDrawn && one.element === other.element) && meet(one, other))
        faults.push('over each other: ' + quoted(one.node.data) + ' and ' + quoted(other.node.data));
    for (const box of controlBoxes)
      if (!box.element.contains(one.element) && meet(one, box))
        faults.push('under ' + nameOf(box.element) + ': ' + quoted(one.node.data));
  }
  for (const [index, one] of controlBoxes.entries())
    for (const other of controlBoxes.slice(index + 1))
      if (!one.element.contains(other.element) && !other.element.contains(one.element) && meet(one, other))
        faults.push('over each other: ' + nameOf(one.element) + ' and ' + nameOf(other.element));
  return [...new Set(faults)];
}`;
