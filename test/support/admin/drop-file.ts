import type { Page } from 'playwright-core';

/** A text file that a test drops on a page. */
interface DroppedFile {
  readonly name: string;
  /** An expression of JavaScript for the text: a large file is made in the browser. */
  readonly text: string;
  /** Ms. A changed file has another time. */
  readonly lastModified?: number;
}

/** Drops a file on the only area of a page that takes one, as a person does with the mouse. */
export async function dropFile(page: Page, { name, text, lastModified = 1_700_000_000_000 }: DroppedFile) {
  // As text: this program knows no types of a browser.
  const transfer = await page.evaluateHandle(`(() => {
    const made = new DataTransfer();
    made.items.add(new File([${text}], ${JSON.stringify(name)}, { lastModified: ${lastModified} }));
    return made;
  })()`);
  await page.dispatchEvent('.drop', 'drop', { dataTransfer: transfer });
}
