import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { sampleAnswer } from '../models/sample-answer.js';
import { appearances, type ConsolePage, openPage } from './console-browser.js';
import type { ConsoleService } from './console-service.js';
import { dropFile } from './drop-file.js';

const maxJobMs = 120_000;

/** A file of leads whose scores are known. `padding` characters make each row longer. */
interface LeadFile {
  readonly rows: number;
  readonly padding: number;
}

const leadOf = (row: number) => ({ company_size: row % 300, demo_requested: row % 2 === 0 });
const header = 'Lead ID,Company Size,demo_requested,Notes\n';
/** The same in the browser and here. */
const textOf = ({ rows, padding }: LeadFile, first = header): string =>
  `${JSON.stringify(first)} + Array.from({ length: ${rows} }, (_, row) => ` +
  `'L-' + row + ',' + row % 300 + ',' + (row % 2 === 0) + ',' + 'n'.repeat(${padding}) + '\\n').join('')`;

/** Bytes of such a file. */
export function lengthOf({ rows, padding }: LeadFile): number {
  let length = header.length;
  for (let row = 0; row < rows; row += 1) {
    const { company_size: size, demo_requested: demo } = leadOf(row);
    length += `L-${row},${size},${demo},`.length + padding + 1;
  }
  return length;
}

/** Drops the file. @param names of other columns, to rename one */
export const dropLeads = (page: Page, file: LeadFile, names?: readonly string[]): Promise<void> =>
  dropFile(page, { name: 'leads.csv', text: textOf(file, names && `${names.join(',')}\n`) });

/** Signs in by a link, and opens the page New job. */
export async function openNewJob({ browser, service, organisationId }: StoryOf): Promise<ConsolePage> {
  const opened = await openPage(browser, service, appearances[0], [401, 'net::ERR_']);
  await opened.signIn('admin', organisationId);
  await opened.page.getByRole('navigation').getByRole('link', { name: 'Jobs', exact: true }).click();
  await opened.page.getByRole('link', { name: 'New job' }).click();
  await opened.page.getByText('Drop a CSV or JSONL file here').waitFor();
  return opened;
}

/** Opens the page New job, and begins the job of a file: see `dropAndBegin`. @returns the open page of the job */
export async function beginJob(
  story: StoryOf,
  file: LeadFile,
  watch?: (page: Page) => Promise<void>,
): Promise<ConsolePage> {
  const opened = await openNewJob(story);
  await dropAndBegin(opened, file, watch);
  return opened;
}

/** Drops a file on the page New job, chooses its id and begins the job. @param watch sees each request with bytes */
export async function dropAndBegin(
  { page, check }: ConsolePage,
  file: LeadFile,
  watch: (page: Page) => Promise<void> = async () => undefined,
): Promise<void> {
  await dropLeads(page, file);
  await page.getByText('2 of 3 fields of the model are in the file').waitFor();
  await page.getByLabel('Which column is the id of the lead?').selectOption('Lead ID');
  await page.getByText('id of the lead', { exact: true }).waitFor();
  await check('new-job-columns');
  await watch(page);
  await page.getByRole('button', { name: 'Score this file' }).click();
  await page.getByRole('heading', { name: 'leads.csv' }).waitFor();
}

interface StoryOf {
  readonly browser: Browser;
  readonly service: ConsoleService;
  readonly organisationId: string;
}

/** In another browser, drops the same file, goes on with its upload, and compares each row of the results. */
export async function goOnWithJob(
  { browser, service, organisationId }: StoryOf,
  file: LeadFile,
): Promise<{ readonly opened: ConsolePage; readonly offsets: readonly number[] }> {
  const opened = await openPage(browser, service, appearances[0], [401]);
  const { page, check } = opened;
  const offsets: number[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') offsets.push(Number(request.headers()['upload-offset']));
  });
  await opened.signIn('admin', organisationId);
  await page.goto(`${service.url}/jobs/new`);
  await page.getByText('Drop a CSV or JSONL file here').waitFor();
  await dropLeads(page, file);
  await page.getByText('The upload of this file is not complete').waitFor();
  await check('new-job-unfinished');
  await page.getByRole('button', { name: 'Go on with the upload' }).click();
  await page.getByText('Completed').waitFor({ timeout: maxJobMs });
  await check('job-completed');
  await downloadResults(page, file);
  return { opened, offsets };
}

/** Downloads the results on the page of a job, and compares each row. @returns their text */
export async function downloadResults(page: Page, file: LeadFile): Promise<string> {
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download results' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).to.equal('leads.scored.csv');
  const text = readFileSync(await download.path(), 'utf8');
  const [first = '', ...lines] = text.trimEnd().split('\n');
  const [id, score, likelihood] = ['Lead ID', 'score', 'conversion_likelihood'].map((name) =>
    first.split(',').indexOf(name),
  );
  expect(lines).to.have.length(file.rows);
  for (const [row, line] of lines.entries()) {
    const cells = line.split(',');
    const expected = sampleAnswer(leadOf(row));
    expect([cells[id ?? -1], Number(cells[score ?? -1])], `row ${row}`).to.deep.equal([`L-${row}`, expected.score]);
    expect(Number(cells[likelihood ?? -1])).to.be.closeTo(expected.conversion_likelihood, 1.01e-4);
  }
  return text;
}
