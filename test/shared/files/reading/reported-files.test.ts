import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Manifest } from '../../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields, type KnownFields } from '../../../../shared/messages/field-slots.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { leaveOut } from '../../../support/leave-out.js';
import { demoBundleDirectory } from '../../../support/models/golden-records.js';
import { messageOf, readersOf } from './file-readers.js';

const folder = projectFile('../shared/cases/jobs');

/** A file, and the rows of its leads: CSV with a header, or a text for a row that fails. */
interface ReadFile {
  readonly tidy: readonly string[];
  readonly failed?: readonly RegExp[];
  readonly crmId?: string;
  /** A sentence about the file. */
  readonly notice?: RegExp;
}

const four = 'crm_id,Lead Source,Industry,Annual Revenue';
const two = ['crm_id,Lead Source,Industry,Annual Revenue,Demo Requested', 'a1,Referral,Software,1200000,true'];
const plain = [...two, 'a2,Website,Retail,90000,false'];
const one = (id: string): string[] => [four, `${id},Referral,Software,1200000`];
const footer = (lines: string): RegExp =>
  new RegExp(`^${lines} (?:is|are) the footer of a report and (?:was|were) passed over$`);
const moved =
  /^The row has 5 cells, but the header has 4 columns\. Cell 5 begins at column \d+\. Quote cells that contain a delimiter$/;
const split = (form: RegExp): RegExp =>
  new RegExp(`^A delimiter splits the cell that begins at column 4 into cells 2 to 3\\. It has ${form.source}`);

/** The tests of the readers have more inputs of each kind. */
const read: Readonly<Record<string, ReadFile>> = {
  'ids-excel-formula-text.csv': { tidy: one('00123') },
  'ids-excel-formula-text-quoted.csv': { tidy: one('00123') },
  'ids-apostrophe.csv': { tidy: one('00123') },
  'lines-ctrl-z.csv': { tidy: ['crm_id,Lead Source,Annual Revenue', 'e1,Referral,1200000'] },
  'json-cr-only.jsonl': { tidy: ['crm_id,Lead Source', 'g1,Referral', 'g2,Website'] },
  // The worker cannot read them: the notice of the job is a test of `unusedValues`.
  'all-values-unread.csv': {
    tidy: ['crm_id,Annual Revenue,Last Activity Date', ...['m0', 'm1', 'm2'].map((id) => `${id},n.a. EUR,10.11.2026`)],
  },
  'cells-unquoted-comma-last-empty.csv': {
    tidy: ['crm_id,Lead Source,Industry', 'c1,Website,', 'c3,Partner,Software'],
    failed: [moved],
  },
  'cells-space-before-quote-comma-short.csv': { tidy: ['crm_id,Lead Source', 'c1,Referral'] },
  'quotes-backslash-escaped.csv': {
    tidy: [],
    failed: [split(/\\" inside\. Write each quote in a quoted cell twice$/)],
  },
  'quotes-curly.csv': {
    tidy: ['crm_id,Lead Source,Annual Revenue', 'c2,Referral,1200000'],
    failed: [split(/the quotes “…”\. Use straight double quotes instead$/)],
  },
  'header-partly-space-quotes.csv': { tidy: one('c1') },
  'cells-space-before-quote.csv': { tidy: one('c1') },
  'header-required-marks.csv': {
    tidy: ['crm_id,Annual Revenue', 'z1,1200000'],
    notice: /"Lead Source\*" \(perhaps "Lead Source"\), "Industry \*" \(perhaps "Industry"\)$/,
  },
  'misspelt-fields.csv': {
    tidy: ['crm_id,Annual Revenue', 'm1,1200000'],
    notice: /"Lead Sorce" \(perhaps "Lead Source"\), "Industri" \(perhaps "Industry"\)$/,
  },
  'no-id-column-named.csv': {
    tidy: ['Lead Source,Annual Revenue', 'Referral,1200000', 'Website,90000'],
    notice: /^Records have no crm_id\. .* such as "crm_id_field": "Lead ID" in "input" of the job$/,
  },
  'no-id-column-jsonl.jsonl': {
    tidy: ['Lead Source', 'Referral', 'Website'],
    notice: /^Records have no crm_id\. .* such as "crm_id_field": "Lead ID" in "input" of the job$/,
  },
  'json-id-field-other-case.jsonl': { tidy: ['crm_id,Lead Source', 'L-1,Referral'], crmId: 'lead_id' },
  'json-lower-upper-id.jsonl': { tidy: ['crm_id,Lead Source', 'g9,Referral', 'g8,Referral'] },
  'totals-row-empty-id.csv': { tidy: plain, notice: footer('Line 4') },
  'totals-row-grand-total.csv': { tidy: plain, notice: footer('Line 4') },
  'totals-row-total-after-blank.csv': { tidy: plain, notice: footer('Line 5') },
  'footer-key-value.csv': { tidy: plain, notice: footer('Lines 5 to 6') },
  'footer-rule-takes-leads.csv': {
    tidy: ['Industry,Lead Source,crm_id', 'Software,Referral,a1', 'Financial Services,,', 'Public Sector,,'],
  },
  'header-repeated-in-middle.csv': { tidy: plain, notice: /^Line 3 repeats the header and was passed over$/ },
  'header-units-row.csv': {
    tidy: plain,
    failed: [/^The row has units or types of columns, such as "EUR"\. Delete it$/],
  },
  'enc-bom-umlaut.csv': { tidy: ['crm_id,Lead Source,Annual Revenue', 'b1,Referral,1200000'] },
  'ids-zero-width.csv': {
    tidy: [four, ...['\u200b00124', '\u00a000125 ', '00126', ' 00127'].map((id) => `${id},Referral,Software,1200000`)],
    notice: /^3 ids begin or end with white space or an invisible character, first in line 2\./,
  },
  'delim-semicolon-thousands-points.csv': {
    tidy: [
      'crm_id,Lead Source,Number of Employees,Email Click Rate',
      ...['d1,Referral,1.200,"0,25"', 'd2,Referral,1200,"0,25"'],
    ],
    notice: /^The column "Number of Employees" has points before three digits, and the file has decimal commas\./,
  },
};

const place = String.raw`\(line 1, column 1\)`;
const refused: Readonly<Record<string, RegExp>> = {
  'json-array.jsonl': new RegExp(`^The file is a JSON array ${place}\\. .* jq -c '\\.\\[\\]' FILE$`),
  'json-array-per-line.jsonl': new RegExp(`^The file is a JSON array ${place}\\. .* jq -c '\\.\\[\\]' FILE$`),
  'json-pretty.jsonl': new RegExp(`^A JSON record has several lines ${place}\\. .* jq -c \\. FILE$`),
  'json-nested.jsonl': /^Line 1, column 1: The fields of the record are inside "properties"\. .* jq -c /,
  'csv-as-jsonl.jsonl': new RegExp(`^The line is no JSON object, so the file is no JSONL ${place}\\. If it is a CSV, `),
  'gz-twice.csv.gz': new RegExp(
    `^The file is compressed twice with gzip ${place}\\. Unpack it: gzip -dc FILE > UNPACKED$`,
  ),
  'bz2-of-csv.csv.bz2': new RegExp(
    `^The file is compressed with bzip2 ${place}\\. Unpack it: bzip2 -dc FILE > UNPACKED$`,
  ),
  'zst-of-csv.csv.zst': new RegExp(
    `^The file is compressed with Zstandard ${place}\\. Unpack it: zstd -dc FILE > UNPACKED$`,
  ),
  'tar-gz-of-csv.tar.gz': new RegExp(`^The file is a tar archive ${place}\\. Unpack it: tar -xf FILE$`),
  'zip-of-csv.zip': new RegExp(`^The file is a ZIP archive ${place}\\. Unpack it: unzip FILE$`),
  'not-text-parquet.csv': new RegExp(`^The file is a Parquet file ${place}\\. Convert it: python3 `),
  'not-text-pdf.csv': new RegExp(`^The file is a PDF ${place}\\. Export the table that it shows as CSV in UTF-8$`),
  'preamble-is-a-field-name.csv':
    /^Line 1 stands before the names of the columns, which are in line 2\. Delete the title lines$/,
  'delim-caret.csv':
    /The columns were separated at commas\. If "\^" separates them, begin the file with the line sep=\^$/,
  'delim-tie-comma-in-name.csv':
    /Its columns: "crm_id;Annual Revenue", " EUR"\. .* separated at commas\. If ";" separates them, begin the file with the line sep=;$/,
  'json-as-csv.csv': new RegExp(`^The file has records of JSON and is no CSV ${place}\\. `),
};

/** Leads that are read, and rows that fail, of files that were right before. `undefined`: the file is refused. */
const good: Readonly<Record<string, readonly [leads: number, failed: number] | RegExp>> = {
  'cells-too-many-with-text.csv': [1, 1],
  'concatenated-without-line-end.csv': [1, 1],
  'csv-semicolon-scores.csv': [1, 0],
  'ctl-plain.csv': [2, 0],
  'delim-semicolon-decimal-comma.csv': [2, 0],
  'delim-sep-line-bom.csv': [1, 0],
  'delim-sep-tab-crlf.csv': [1, 0],
  'delim-tie-known-field.csv': [1, 0],
  'empty-0-bytes.csv': /^The file has no header/,
  'footer-padded-by-excel.csv': [2, 0],
  'footer-without-blank-line.csv': [3, 0],
  'gz-truncated.csv.gz': /^The gzip file ends early/,
  'gz-two-members.csv.gz': [2, 0],
  'gz-zero-padding.csv.gz': /^The gzip file has other bytes after its end/,
  'header-comma-space-quotes.csv': [1, 0],
  'header-duplicate-known.csv': /^Two columns have the name "Lead Source"/,
  'header-empty-names.csv': [1, 0],
  'header-line-break-in-name.csv': [1, 0],
  'header-none.csv': /^The header \(line 1\) has no column that the model knows/,
  'header-only.csv': /^The file has a header, but no rows$/,
  'header-trailing-comma-data-beyond.csv': [1, 0],
  'header-trailing-comma.csv': [1, 0],
  'header-two-folded-names.csv': [2, 0],
  'json-duplicate-keys.jsonl': [1, 0],
  'json-nan.jsonl': [0, 1],
  'json-u2028.jsonl': [1, 0],
  'json-utf16.jsonl': [1, 0],
  'lines-crcrlf.csv': [2, 0],
  'lines-form-feed.csv': [1, 0],
  'lines-mixed-ends.csv': [3, 0],
  'lines-nel-vt.csv': [1, 0],
  'lines-nul.csv': /^The file contains a NUL character \(line 2, column 9\)/,
  'lines-u2028.csv': [1, 0],
  'lines-unquoted-break-in-cell.csv': [2, 0],
  'preamble-key-value.csv': /^Lines 1 to 3 stand before the names of the columns/,
  'preamble-names-a-field.csv': /^Line 1 stands before the names of the columns/,
  'quotes-backslash-escaped-full.csv': [0, 1],
  'results-formula-in-warnings.csv': [4, 0],
  'results-reused-as-input.csv': [1, 0],
  'values-apostrophe-number.csv': [2, 0],
  'xlsx-renamed.csv': /^The file is an Excel workbook/,
};

const failures = (rows: readonly unknown[]): string[] => rows.filter((row) => typeof row === 'string');

describe('the files of reports of other products', () => {
  let fields: KnownFields;
  let readers: Pick<ReturnType<typeof readersOf>, 'a bulk job'>;
  let directory: string;

  before(async () => {
    const manifest = JSON.parse(await readFile(join(demoBundleDirectory(), 'manifest.json'), 'utf8')) as Manifest;
    fields = compileKnownFields(manifest);
    const { 'outcomes import': _, ...others } = readersOf(fields);
    readers = others;
    directory = await mkdtemp(join(tmpdir(), 'leadscore-reported-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const fileOf = async (context: Mocha.Context, name: string) => {
    const path = join(folder, name);
    const bytes = await readFile(path).catch(() =>
      leaveOut(context, `${name} is not beside the project`, 'put it into ../shared/cases/jobs'),
    );
    return { path, bytes, crmId: read[name]?.crmId };
  };

  /** The id and the cells of the model of each lead: equal ones have equal scores. */
  const leadsOf = (rows: readonly unknown[]): unknown[] =>
    rows
      .filter((row): row is Readonly<Record<string, unknown>> => typeof row !== 'string')
      .map(({ packed, ...record }) => ({
        id: record.crm_id ?? null,
        cells: (typeof packed === 'string' ? (JSON.parse(packed) as unknown[]) : fields.pack(record)).map(
          (cell) => cell ?? null,
        ),
      }));

  for (const [name, { tidy, failed = [], notice }] of Object.entries(read))
    it(`is read as its tidy form: ${name}`, async function () {
      const notices: string[] = [];
      const file = { ...(await fileOf(this, name)), onNotice: (each: string) => void notices.push(each) };
      const text = `${(tidy.length > 0 ? tidy : [four, '']).join('\n')}\n`;
      const path = join(directory, 'tidy.csv');
      await writeFile(path, text);
      for (const [reader, rowsOf] of Object.entries(readers)) {
        notices.length = 0; // those of the last reader remain: the job's
        const found = await rowsOf(file);
        const expected = tidy.length > 0 ? await rowsOf({ path, bytes: Buffer.from(text), crmId: undefined }) : [];
        expect(leadsOf(found), reader).to.deep.equal(leadsOf(expected));
        const messages = failures(found);
        expect(messages, reader).to.have.length(failed.length);
        for (const [index, message] of failed.entries()) expect(messages[index], reader).to.match(message);
      }
      if (notice !== undefined)
        expect(
          notices.some((each) => notice.test(each)),
          notices.join('\n'),
        ).to.equal(true);
    });

  for (const [name, message] of Object.entries(refused))
    it(`is refused with line, column and remedy: ${name}`, async function () {
      const file = await fileOf(this, name);
      for (const rowsOf of Object.values(readers)) expect(await messageOf(rowsOf(file))).to.match(message);
    });

  for (const [name, expected] of Object.entries(good))
    it(`stays as it was: ${name}`, async function () {
      const file = await fileOf(this, `good/${name}`);
      for (const rowsOf of Object.values(readers)) {
        if (expected instanceof RegExp) {
          expect(await messageOf(rowsOf(file))).to.match(expected);
          continue;
        }
        const rows = await rowsOf(file);
        const failed = failures(rows).length;
        expect([rows.length - failed, failed]).to.deep.equal(expected);
      }
    });

  it('has the ids of outcomes-formula-ids.csv in outcomes', async function () {
    const file = await fileOf(this, 'outcomes-formula-ids.csv');
    const [outcome] = await readersOf(fields)['outcomes import'](file);
    expect(outcome).to.include({ crmId: '00123', converted: true });
  });
});
